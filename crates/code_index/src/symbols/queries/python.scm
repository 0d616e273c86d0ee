(decorator) @attribute

(class_definition name: (_) @name) @class
(function_definition name: (_) @name) @function
(type_alias_statement left: (type (identifier) @name)) @type
(type_alias_statement left: (type (generic_type . (identifier) @name))) @type

(assignment left: (identifier) @name right: (lambda)) @function
(assignment left: (identifier) @name) @variable
(assignment left: (pattern_list (identifier) @name)) @variable
(assignment left: (tuple_pattern (identifier) @name)) @variable
(named_expression name: (identifier) @name) @variable
(assignment
  left: (attribute object: (identifier) @_self attribute: (identifier) @name)
  (#eq? @_self "self")) @field

(aliased_import alias: (identifier) @name) @import
(import_from_statement name: (dotted_name (identifier) @name .)) @import
(import_statement name: (dotted_name . (identifier) @name)) @import
