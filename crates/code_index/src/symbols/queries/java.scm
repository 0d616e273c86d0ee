(package_declaration [(scoped_identifier) (identifier)] @name) @module

(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(enum_constant name: (_) @name) @variant

(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(compact_constructor_declaration name: (_) @name) @method
(annotation_type_element_declaration name: (_) @name) @method

(constant_declaration declarator: (variable_declarator name: (_) @name)) @constant
(field_declaration
  (modifiers "static" "final")
  declarator: (variable_declarator name: (_) @name)) @constant
(field_declaration
  (modifiers "final" "static")
  declarator: (variable_declarator name: (_) @name)) @constant
(field_declaration declarator: (variable_declarator name: (_) @name)) @field
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @field))
(local_variable_declaration declarator: (variable_declarator name: (_) @name)) @variable

(import_declaration (scoped_identifier name: (_) @name)) @import
