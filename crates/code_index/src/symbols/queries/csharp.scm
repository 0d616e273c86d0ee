(file_scoped_namespace_declaration name: (_) @name) @namespace
(namespace_declaration name: (_) @name) @module

(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(enum_member_declaration name: (_) @name) @variant
(delegate_declaration name: (_) @name) @type

(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(destructor_declaration name: (_) @name) @method
(operator_declaration operator: _ @name) @method
(conversion_operator_declaration type: (_) @name) @method
(indexer_declaration "this" @name) @method
(local_function_statement name: (_) @name) @function

(property_declaration name: (_) @name) @field
(event_declaration name: (_) @name) @field
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
(field_declaration
  (modifier) @_const
  (variable_declaration (variable_declarator name: (_) @name))
  (#eq? @_const "const")) @constant
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
(record_declaration (parameter_list (parameter name: (_) @name) @field))

(local_declaration_statement (variable_declaration (variable_declarator name: (_) @name))) @variable
(global_statement
  (local_declaration_statement (variable_declaration (variable_declarator name: (_) @name)))) @variable

(using_directive name: (_) @name) @import
