// What the TypeScript compiler's parser says a directory of JavaScript defines:
// path, line, name, rank; 0 for what stands in nothing else or is exported, 1 for the rest.
//   node javascript_places.cjs COMPILER ROOT
const fs = require('fs');
const path = require('path');
const ts = require(path.resolve(process.argv[2]));
const root = path.resolve(process.argv[3]);

/** Larger files are not parsed by us either. */
const MAX_BYTES = 1 << 20;
const FUNCTIONS = new Set([
  ts.SyntaxKind.FunctionExpression,
  ts.SyntaxKind.ArrowFunction,
  ts.SyntaxKind.ClassExpression,
]);

function files(directory, found = []) {
  for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
    const place = path.join(directory, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules') files(place, found);
    else if (entry.isFile() && /\.(js|cjs|mjs|jsx)$/.test(entry.name)) found.push(place);
  }
  return found.sort();
}

const isExports = (text) => text === 'exports' || text === 'module.exports';

/** `(function () {…})()`, the factory behind it, and what `define` is given. */
function isWrapper(node, source) {
  const around = node.parent;
  if (ts.isParenthesizedExpression(around)) return true;
  if (!ts.isCallExpression(around)) return ts.isPropertyAccessExpression(around);
  const called = around.expression;
  return !(ts.isIdentifier(called) || ts.isPropertyAccessExpression(called)) || called.getText(source) === 'define';
}

function judge(file) {
  const text = fs.readFileSync(file, 'utf8');
  if (Buffer.byteLength(text) > MAX_BYTES) return;
  // What programs wrote for programs has lines that no one reads.
  if (text.length > 5000 && text.split('\n').length * 500 < text.length) return;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const shown = path.relative(root, file);
  const emit = (name, rank) => {
    const line = source.getLineAndCharacterOfPosition(name.getStart(source)).line + 1;
    process.stdout.write(`${shown}\t${line}\t${name.text}\t${rank}\n`);
  };
  const visit = (node, depth) => {
    const rank = depth === 0 ? 0 : 1;
    let inner = depth;
    if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) {
      if (node.name) emit(node.name, rank);
      inner += 1;
    } else if (ts.isMethodDeclaration(node) || ts.isGetAccessor(node) || ts.isSetAccessor(node)) {
      if (ts.isIdentifier(node.name)) emit(node.name, 1);
      inner += 1;
    } else if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name)) {
      if (node.initializer && FUNCTIONS.has(node.initializer.kind)) emit(node.name, rank);
      else if (depth === 0 && node.initializer && !/\brequire\(/.test(node.initializer.getText(source))) {
        emit(node.name, rank);
      }
    } else if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) {
      if (FUNCTIONS.has(node.initializer.kind)) emit(node.name, 1);
    } else if (
      ts.isBinaryExpression(node) &&
      node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      ts.isPropertyAccessExpression(node.left) &&
      ts.isIdentifier(node.left.name) &&
      FUNCTIONS.has(node.right.kind)
    ) {
      emit(node.left.name, isExports(node.left.expression.getText(source)) ? 0 : 1);
      inner += 1;
    } else if (FUNCTIONS.has(node.kind)) {
      // The function around a whole module adds no depth.
      if (!(depth === 0 && !node.name && isWrapper(node, source))) inner += 1;
    }
    ts.forEachChild(node, (child) => visit(child, inner));
  };
  visit(source, 0);
}

for (const file of files(root)) judge(file);
