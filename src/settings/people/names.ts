/** Which names people and roles can have, and whether two of them could be taken for each other. */
import { foldName } from "../../record/conversation/index.ts";
import { JpError } from "../../util/index.ts";

const MAX_NAME_LENGTH = 64;
/** Control and format characters, line breaks, lone surrogates, what is drawn as nothing, and spaces around. */
const BAD_NAME = /^\s|\s$|[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Cyrillic and Greek letters that look like Latin ones, small or capital; those follow in the same order. */
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
 * Whether people would take one name for the other: they only differ in case, in how a letter is encoded, in spaces,
 * or in letters of other alphabets that look the same.
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
