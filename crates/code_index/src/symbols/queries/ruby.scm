(class name: (constant) @name) @class
(class name: (scope_resolution scope: (_)? @in name: (_) @name)) @class
(module name: (constant) @name) @module
(module name: (scope_resolution scope: (_)? @in name: (_) @name)) @module

(program (method name: (_) @name) @function)
(method name: (_) @name) @method
(singleton_method object: (self) name: (_) @name) @method
(singleton_method object: [(constant) (identifier) (scope_resolution)] @in name: (_) @name) @method
((alias name: (_) @name) @method (#set! trim ":"))
(call
  !receiver
  method: (identifier) @_define
  arguments: (argument_list . [(simple_symbol) @name (string (string_content) @name)])
  (#any-of? @_define "define_method" "alias_method" "define_singleton_method")
  (#set! trim ":")) @method
(call
  !receiver
  method: (identifier) @_attr
  arguments: (argument_list [(simple_symbol) @name (string (string_content) @name)])
  (#any-of? @_attr "attr" "attr_reader" "attr_writer" "attr_accessor" "mattr_accessor"
    "mattr_reader" "mattr_writer" "cattr_accessor" "cattr_reader" "cattr_writer" "class_attribute"
    "thread_mattr_accessor")
  (#set! trim ":")) @field

(assignment
  left: (constant) @name
  right: (call receiver: (constant) @_class method: (identifier) @_new)
  (#any-of? @_class "Struct" "Class" "Data")
  (#any-of? @_new "new" "define")) @class
(assignment
  left: (constant) @name
  right: (call receiver: (constant) @_class method: (identifier) @_new)
  (#eq? @_class "Module")
  (#eq? @_new "new")) @module
(assignment left: (constant) @name) @constant
(assignment left: (scope_resolution scope: (_)? @in name: (constant) @name)) @constant
(operator_assignment left: (constant) @name) @constant
(assignment left: (left_assignment_list (constant) @name)) @constant
(assignment left: (global_variable) @name) @variable
(program (assignment left: (identifier) @name) @variable)
(method body: (body_statement (assignment left: (identifier) @name) @variable))
