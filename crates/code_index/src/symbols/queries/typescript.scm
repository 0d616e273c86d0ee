; What TypeScript adds.

(ambient_declaration "declare" @attribute)

(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(enum_body name: (property_identifier) @name @variant)
(enum_body name: (string (string_fragment) @name) @variant)
(enum_assignment name: (property_identifier) @name) @variant
(enum_assignment name: (string (string_fragment) @name)) @variant
(internal_module name: [(identifier) (nested_identifier)] @name) @module
(module name: [(identifier) (nested_identifier)] @name) @module
(module name: (string (string_fragment) @name)) @module
(ambient_declaration "global" @name) @module

(function_signature name: (_) @name) @function
(method_signature name: [(property_identifier) (private_property_identifier)] @name) @method
(method_signature name: (string (string_fragment) @name)) @method
(construct_signature "new" @name) @method
(abstract_method_signature name: (property_identifier) @name) @method

(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @method
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name) @field
(public_field_definition name: (string (string_fragment) @name)) @field
(property_signature name: (property_identifier) @name) @field
(property_signature name: (string (string_fragment) @name)) @field
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @field

(import_require_clause (identifier) @name) @import
(import_alias . (identifier) @name) @import
