(function_definition name: (word) @name) @function

(variable_assignment name: (variable_name) @name) @variable
(variable_assignment name: (subscript name: (variable_name) @name)) @variable

(command
  name: (command_name (word) @_alias)
  argument: (concatenation . (word) @name) @macro
  (#eq? @_alias "alias")
  (#set! trim "="))
