; What JavaScript and TypeScript have in common.

(export_statement ["export" "default"] @attribute)
(decorator) @attribute

; Functions without a name that are passed on or stored, but not those around a whole module.
(call_expression
  function: [(identifier) (member_expression)] @_called
  arguments: (arguments [(function_expression !name) (arrow_function)] @block)
  (#not-any-of? @_called "define" "require" "requirejs" "System.register"))
(assignment_expression
  left: (subscript_expression)
  right: [(function_expression !name) (arrow_function)] @block)
(return_statement [(function_expression !name) (arrow_function)] @block)

; What `require` brings in is defined elsewhere.
(variable_declarator name: (identifier) @name
  value: [
    (call_expression function: (identifier) @_require)
    (member_expression object: (call_expression function: (identifier) @_require))
  ]
  (#eq? @_require "require")) @import
(variable_declarator name: (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (pair_pattern value: (identifier) @name)
  ])
  value: (call_expression function: (identifier) @_require)
  (#eq? @_require "require")) @import

(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(class name: (_) @name) @class

; Functions and classes that are bound to a name.
([
  (lexical_declaration . (variable_declarator name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)]) .)
  (variable_declaration . (variable_declarator name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)]) .)
]) @function
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
([
  (lexical_declaration . (variable_declarator name: (identifier) @name value: (class)) .)
  (variable_declaration . (variable_declarator name: (identifier) @name value: (class)) .)
]) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(function_expression name: (identifier) @name) @function
(generator_function name: (identifier) @name) @function

(export_statement "default" @name value: [
  (arrow_function)
  (function_expression !name)
  (generator_function !name)
]) @function
(export_statement "default" @name value: (class !name)) @class

; Methods of classes and of objects.
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(method_definition name: (string (string_fragment) @name)) @method
(method_definition name: (computed_property_name (string (string_fragment) @name))) @method
(method_definition name: (computed_property_name [(member_expression) (identifier)]) @name) @method
(pair
  key: [(property_identifier) @name (string (string_fragment) @name)]
  value: [(arrow_function) (function_expression) (generator_function)]) @method

; Assignments to what is exported, to prototypes and to other objects.
(assignment_expression
  left: (member_expression
    object: (member_expression object: (_) @_module property: (_) @_exports)
    property: (property_identifier) @name)
  right: [
    (arrow_function) (function_expression) (generator_function)
    (assignment_expression right: [(arrow_function) (function_expression)])
  ]
  (#eq? @_module "module")
  (#eq? @_exports "exports")) @function
(assignment_expression
  left: (member_expression object: (identifier) @_exports property: (property_identifier) @name)
  right: [
    (arrow_function) (function_expression) (generator_function)
    (assignment_expression right: [(arrow_function) (function_expression)])
  ]
  (#eq? @_exports "exports")) @function
(assignment_expression
  left: (member_expression
    object: (member_expression object: (_) @in property: (_) @_prototype)
    property: (property_identifier) @name)
  (#eq? @_prototype "prototype")) @method
(assignment_expression
  left: (member_expression object: (this) property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @method
(assignment_expression
  left: (member_expression
    object: [(identifier) (member_expression)] @in
    property: (property_identifier) @name)
  right: [
    (arrow_function) (function_expression) (generator_function)
    (assignment_expression right: [(arrow_function) (function_expression)])
  ]) @method
(assignment_expression
  left: (member_expression object: (_) property: (property_identifier) @name)
  right: (class)) @class
(assignment_expression
  left: (identifier) @name
  right: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression
  left: (member_expression object: (identifier) @in property: (_) @_prototype)
  right: (object)
  (#eq? @_prototype "prototype")) @scope
; What is only handed on under a name is defined where that name is from.
(expression_statement
  (assignment_expression
    left: (member_expression object: (identifier) @_exports property: (property_identifier) @name)
    right: [(identifier) (member_expression)])
  (#eq? @_exports "exports")) @import
(expression_statement
  (assignment_expression
    left: (member_expression
      object: (member_expression object: (_) @_module property: (_) @_exports)
      property: (property_identifier) @name)
    right: [(identifier) (member_expression)])
  (#eq? @_module "module")
  (#eq? @_exports "exports")) @import
(expression_statement
  (assignment_expression
    left: (member_expression object: (identifier) @_exports property: (property_identifier) @name))
  (#eq? @_exports "exports")) @variable
(expression_statement
  (assignment_expression
    left: (member_expression
      object: (member_expression object: (_) @_module property: (_) @_exports)
      property: (property_identifier) @name))
  (#eq? @_module "module")
  (#eq? @_exports "exports")) @variable

; Constants and variables.
(lexical_declaration kind: "const" . (variable_declarator name: (identifier) @name) .) @constant
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @constant)
(lexical_declaration kind: "let" . (variable_declarator name: (identifier) @name) .) @variable
(variable_declaration . (variable_declarator name: (identifier) @name) .) @variable
(variable_declarator name: (identifier) @name) @variable
(variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @name
  (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
  (pair_pattern value: (identifier) @name)
  (pair_pattern value: (assignment_pattern left: (identifier) @name))
  (pair_pattern value: (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (pair_pattern value: (identifier) @name)
  ]))
  (rest_pattern (identifier) @name)
])) @variable
(variable_declarator name: (array_pattern [
  (identifier) @name
  (assignment_pattern left: (identifier) @name)
  (rest_pattern (identifier) @name)
])) @variable
(for_in_statement kind: _ left: (identifier) @name @variable)

; Names from elsewhere.
(import_specifier alias: (_) @name) @import
(import_specifier name: (_) @name !alias) @import
(import_clause (identifier) @name @import)
(namespace_import (identifier) @name) @import
(export_specifier alias: (_) @name) @import
(export_statement
  (export_clause (export_specifier name: (_) @name !alias) @import)
  source: (_))
(namespace_export (identifier) @name) @import
