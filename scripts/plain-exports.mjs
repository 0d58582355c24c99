/**
 * The bundler creates a getter for each exported name, because its value may change later. Few do. All others become
 * plain values, which saves hundreds of function calls at startup.
 */
import { parseAst } from "rolldown/parseAst";

/** The bundler's output at the end of a file. */
const GETTER =
  /Object\.defineProperty\(exports, ['"](\w+)['"], \{\s+enumerable: true,\s+get: function \(\) \{\s+return (\w+);\s+\}\s+\}\);/g;

export const plainExports = {
  name: "plain-exports",
  renderChunk(code) {
    if (!code.includes("Object.defineProperty(exports, ")) return null;
    const changing = assignedNames(parseAst(code));
    const plain = code.replaceAll(GETTER, (getter, name, local) =>
      changing.has(local) ? getter : `exports.${name} = ${local};`,
    );
    return { code: plain, map: null }; // They are the last lines.
  },
};

/** Every name that is assigned after its declaration, in any scope. */
function assignedNames(program) {
  const names = new Set();
  visit(program, (node) => {
    if (node.type === "AssignmentExpression") addNames(node.left, names);
    else if (node.type === "UpdateExpression") addNames(node.argument, names);
    else if (node.type === "ForInStatement" || node.type === "ForOfStatement")
      addNames(node.left, names);
  });
  return names;
}

function addNames(target, names) {
  visit(target, (node) => {
    if (node.type === "Identifier") names.add(node.name);
  });
}

function visit(node, see) {
  if (Array.isArray(node)) for (const one of node) visit(one, see);
  else if (typeof node?.type === "string") {
    see(node);
    for (const value of Object.values(node)) if (typeof value === "object") visit(value, see);
  }
}
