(namespace_definition name: (_) @name !body) @namespace
(namespace_definition name: (_) @name body: (_)) @module

(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(enum_case name: (_) @name) @variant
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @method

(const_declaration (const_element . (name) @name)) @constant
(function_call_expression
  function: (name) @_define
  arguments: (arguments . (argument [
    (string (string_content) @name)
    (encapsed_string (string_content) @name)
  ]))
  (#eq? @_define "define")) @constant
(property_declaration (property_element name: (variable_name (name) @name))) @field
(property_promotion_parameter name: (variable_name (name) @name)) @field
(assignment_expression
  left: (variable_name (name) @name)
  right: [(anonymous_function) (arrow_function)]) @function
(assignment_expression left: (variable_name (name) @name)) @variable
(static_variable_declaration name: (variable_name (name) @name)) @variable

(namespace_use_clause alias: (name) @name) @import
(namespace_use_clause (qualified_name (name) @name .) !alias) @import
(namespace_use_clause . (name) @name !alias) @import
