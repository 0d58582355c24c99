/**
 * Lays JSON out as programs write it, two spaces a level, token for token: unlike parsing and
 * printing it again, this keeps `1.0`, large integers and the order of all keys.
 */

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** `text` is one valid JSON value; `depth` is the level it stands at. */
export function reindentJson(text: string, depth: number): string {
  const tokens = text.match(TOKEN) ?? [];
  let level = depth;
  let result = "";
  for (const [index, token] of tokens.entries()) {
    const isEmptyPair = isPair(tokens[index - 1], token);
    if (token === "}" || token === "]") {
      level -= 1;
      result += isEmptyPair ? token : lineBreak(level) + token;
    } else if (token === "{" || token === "[") {
      level += 1;
      result += isPair(token, tokens[index + 1]) ? token : token + lineBreak(level);
    } else if (token === ",") {
      result += token + lineBreak(level);
    } else {
      result += token === ":" ? ": " : token;
    }
  }
  return result;
}

function isPair(opening: string | undefined, closing: string | undefined): boolean {
  return (opening === "{" && closing === "}") || (opening === "[" && closing === "]");
}

function lineBreak(level: number): string {
  return `\n${"  ".repeat(level)}`;
}
