(package_clause (package_identifier) @name) @module

(function_declaration name: (_) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @in))
  name: (_) @name) @method

(type_declaration . (type_spec name: (_) @name type: (struct_type)) .) @struct
(type_spec name: (_) @name type: (struct_type)) @struct
(type_declaration . (type_spec name: (_) @name type: (interface_type)) .) @interface
(type_spec name: (_) @name type: (interface_type)) @interface
(type_declaration . [(type_spec name: (_) @name) (type_alias name: (_) @name)] .) @type
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(method_elem name: (_) @name) @method
(field_declaration name: (_) @name) @field

(const_declaration . (const_spec (identifier) @name) .) @constant
(const_spec (identifier) @name) @constant
(var_declaration . (var_spec name: (identifier) @name) .) @variable
(var_spec name: (identifier) @name) @variable
(short_var_declaration left: (expression_list (identifier) @name)) @variable

(import_spec name: (package_identifier) @name) @import
