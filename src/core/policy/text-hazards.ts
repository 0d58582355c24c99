/**
 * Text that a program may read as another path or URL than it seems to be. jp cannot know what an argument without a
 * type is for, so a rule that names a folder or an address lets no such text through.
 */

/**
 * What makes a text ambiguous.
 *
 * - `dot_segment`: `.` or `..` between slashes, which leads out of the folder that the text begins with.
 * - `empty_segment`: two slashes, other than right after a scheme: some programs start over at the second.
 * - `backslash`: a slash to some programs.
 * - `control_character`: ends or disappears from the text in some programs.
 */
export type TextHazard = "dot_segment" | "empty_segment" | "backslash" | "control_character";

/** Also finds what is percent-encoded, any number of times. */
export function findTextHazards(text: string): readonly TextHazard[] {
  const decoded = decodeFully(text);
  const hazards = new Set<TextHazard>();
  // In a URL, the path ends at `?` or `#`.
  if (decoded.split(/[/?#]/).some((segment) => segment === "." || segment === "..")) {
    hazards.add("dot_segment");
  }
  if (decoded.replaceAll(SCHEME, "").includes("//")) hazards.add("empty_segment");
  if (decoded.includes("\\")) hazards.add("backslash");
  if (/\p{Cc}/u.test(decoded)) hazards.add("control_character");
  return [...hazards];
}

const SCHEME = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\//gi;

const ESCAPE_LENGTH = "%2e".length;
/** Only ASCII: all that is looked for. */
const ESCAPE = /^%[0-7][0-9a-f]$/i;

/** Until nothing is left to decode: `%252e` and `%2%65` are dots. Linear, because each decoding shortens the text. */
function decodeFully(text: string): string {
  if (!text.includes("%")) return text;
  const characters: string[] = [];
  for (const character of text) {
    characters.push(character);
    while (characters.at(-ESCAPE_LENGTH) === "%") {
      const escape = characters.slice(-ESCAPE_LENGTH).join("");
      if (!ESCAPE.test(escape)) break;
      characters.splice(-ESCAPE_LENGTH, ESCAPE_LENGTH, decodeURIComponent(escape));
    }
  }
  return characters.join("");
}
