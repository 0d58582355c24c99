/**
 * Changes one key of a TOML file. What comes out is read again before it is trusted: not every layout of
 * tables can be patched.
 */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../util/index.ts";
import { ConfigError } from "./config-error.ts";
import { describeSyntaxError } from "./syntax-error.ts";
import { type Change, withValue } from "./with-value.ts";

/** Throws `config_unreadable`. */
export async function setInToml(file: string, text: string, change: Change): Promise<string> {
  const { parse } = await import("smol-toml");
  const read = (toml: string) => plain(parse(toml));
  let wanted: JsonObject;
  try {
    wanted = plain(withValue(read(text), change));
  } catch (error) {
    throw new ConfigError("config_unreadable", `${file}: ${describeSyntaxError(error)}`);
  }
  for (const edit of [patch, append]) {
    try {
      const edited = await edit(text, change);
      if (isDeepStrictEqual(read(edited), wanted)) return edited;
    } catch {
      // This way it cannot be done.
    }
  }
  throw new ConfigError(
    "config_unreadable",
    `${file} is not edited: its tables are laid out in a way that cannot be changed safely.`,
    { hint: "Change it in your editor." },
  );
}

async function patch(text: string, change: Change): Promise<string> {
  const toml = await import("@decimalturn/toml-patch");
  const current: unknown = toml.parse(text);
  // A list may end in a comma, an inline table may not.
  const format = toml.TomlFormat.autoDetectFormat(text);
  format.trailingComma = false;
  const changed = withValue(isJsonObject(current) ? current : {}, change);
  const patched = toml.patch(text, changed, format);
  return patched.endsWith("\n") ? patched : `${patched}\n`;
}

/** A table of its own at the end. */
async function append(text: string, { keys, value }: Change): Promise<string> {
  const { stringify } = await import("smol-toml");
  const added = stringify(withValue({}, { keys, value })).trim();
  const before = text.trimEnd();
  return before === "" ? `${added}\n` : `${before}\n\n${added}\n`;
}

/** As JSON has it, so that dates and prototypes make no difference. */
function plain(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject; // Of a table, which gives an object.
}
