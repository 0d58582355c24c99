/** Valid names of people and roles, and whether two of them could be confused. */
import { foldName } from "../../record/conversation/index.ts";
import { JpError } from "../../util/index.ts";

const MAX_NAME_LENGTH = 64;
/** Control and format characters, line breaks, lone surrogates, invisible characters, and surrounding spaces. */
const BAD_NAME = /^\s|\s$|[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Cyrillic and Greek letters that look like Latin ones, small or capital; `LATIN` has those in the same order. */
const LOOKALIKES = "авԁеһніјкӏморԛсѕтхуԝѵαβεηικμνορτυχγ";
const LATIN = "abdehhijklmopqcstxywvabehikmvoptuxy";

/** Throws `invalid_name`. */
export function assertName(name: string): void {
  const { length } = name;
  if (length > 0 && length <= MAX_NAME_LENGTH && !BAD_NAME.test(name)) return;
  throw new JpError("invalid_name", "This name cannot be used.", {
    hint: `A name has up to ${MAX_NAME_LENGTH} visible characters, and may have spaces inside.`,
  });
}

/**
 * Whether people could confuse two names: they differ only in case, encoding, spaces, or similar letters of other
 * alphabets.
 */
export function looksLike(left: string, right: string): boolean {
  return skeletonOf(left) === skeletonOf(right);
}

function skeletonOf(name: string): string {
  return foldName(name).replaceAll(
    /\P{ASCII}/gu,
    (letter) => LATIN[LOOKALIKES.indexOf(letter)] ?? letter,
  );
}
