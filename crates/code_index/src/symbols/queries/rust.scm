(attribute_item) @attribute

(impl_item type: (_) @in) @scope
(trait_item name: (_) @name) @trait
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @union
(enum_item name: (_) @name) @enum
(enum_variant name: (_) @name) @variant
(field_declaration name: (_) @name) @field
(type_item name: (_) @name) @type
(associated_type name: (_) @name) @type
(function_item name: (_) @name) @function
(foreign_mod_item body: (declaration_list (function_signature_item name: (_) @name) @declaration))
(foreign_mod_item body: (declaration_list (static_item name: (_) @name) @declaration))
(function_signature_item name: (_) @name) @function
(const_item name: (identifier) @name) @constant
(static_item name: (_) @name) @static
(macro_definition name: (_) @name) @macro
(mod_item name: (_) @name) @module
(let_declaration pattern: (identifier) @name) @variable
(let_declaration pattern: (mut_pattern (identifier) @name)) @variable
(let_declaration pattern: (tuple_pattern (identifier) @name)) @variable

; `static` and `const` in `thread_local!`, `lazy_static!` and the like.
(macro_invocation (token_tree "static" . "ref"? . (identifier) @name)) @static

(use_as_clause alias: (identifier) @name) @import
(use_declaration argument: (scoped_identifier name: (identifier) @name)) @import
(use_declaration argument: (identifier) @name) @import
(use_list (identifier) @name @import)
(use_list (scoped_identifier name: (identifier) @name) @import)
(extern_crate_declaration alias: (identifier) @name) @import
(extern_crate_declaration name: (identifier) @name !alias) @import
