// Prints every import of the TypeScript files beneath a directory that TypeScript itself leads to a
// file beneath it: importer, a tab, the imported file.
//
// node typescript_edges.cjs TYPESCRIPT ROOT

const fs = require("fs");
const path = require("path");

const ts = require(path.resolve(process.argv[2]));
const root = fs.realpathSync(process.argv[3]);

function sources(directory, found) {
  for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
    const whole = path.join(directory, entry.name);
    if (entry.name === "node_modules" || entry.name.startsWith(".")) continue;
    if (entry.isDirectory()) sources(whole, found);
    else if (/\.[mc]?tsx?$/.test(entry.name)) found.push(whole);
  }
  return found;
}

const configurations = new Map();

function options(file) {
  const config = ts.findConfigFile(path.dirname(file), ts.sys.fileExists);
  const key = config && config.startsWith(root + path.sep) ? config : "";
  if (!configurations.has(key)) {
    const base = { moduleResolution: ts.ModuleResolutionKind.Bundler, module: ts.ModuleKind.ESNext };
    const own = key ? ts.parseJsonConfigFileContent(ts.readConfigFile(key, ts.sys.readFile).config, ts.sys, path.dirname(key)).options : {};
    const { baseUrl, paths, pathsBasePath, rootDirs } = own;
    configurations.set(key, { ...base, baseUrl, paths, pathsBasePath, rootDirs, allowJs: true, resolveJsonModule: true });
  }
  return configurations.get(key);
}

const edges = new Set();

function add(from, to) {
  const real = fs.realpathSync(to);
  const inside = real.startsWith(root + path.sep) && !real.includes(path.sep + "node_modules" + path.sep);
  if (inside && real !== from) edges.add(`${path.relative(root, from)}\t${path.relative(root, real)}`);
}

/** The modules that a file names, in the order of the text. */
function modules(source) {
  const found = [];
  const add = (node) => node && ts.isStringLiteralLike(node) && found.push(node.text);
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add(node.moduleSpecifier);
    else if (ts.isExternalModuleReference(node)) add(node.expression);
    else if (ts.isModuleDeclaration(node) && ts.isExternalModule(source)) add(node.name);
    else if (ts.isImportTypeNode(node)) add(node.argument.literal);
    else if (ts.isCallExpression(node)) {
      const loads = node.expression.kind === ts.SyntaxKind.ImportKeyword || node.expression.getText(source) === "require";
      if (loads) add(node.arguments[0]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

for (const file of sources(root, [])) {
  const source = ts.createSourceFile(file, fs.readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  for (const name of modules(source)) {
    const found = ts.resolveModuleName(name, file, options(file), ts.sys).resolvedModule;
    if (found) add(file, found.resolvedFileName);
  }
  for (const { fileName } of source.referencedFiles) {
    const to = path.resolve(path.dirname(file), fileName);
    if (fs.existsSync(to)) add(file, to);
  }
}
for (const edge of [...edges].sort()) console.log(edge);
