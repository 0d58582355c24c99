/** Changes one key of a config file, and leaves the rest of it as people wrote it. */
import path from "node:path";
import { isJsonObject, type JsonObject, parseJson } from "../util/index.ts";
import { ConfigError } from "./config-error.ts";
import { setInToml } from "./edit-toml.ts";
import { describeSyntaxError } from "./syntax-error.ts";
import { type Change, withValue } from "./with-value.ts";

/** The new text of the file. Comments stay. Throws `config_unreadable`. */
export async function setInText(file: string, text: string, change: Change): Promise<string> {
  switch (path.extname(file)) {
    case ".toml":
      return setInToml(file, text, change);
    case ".json":
      return setInJson(file, text, change);
    default:
      throw new ConfigError(
        "config_unreadable",
        `${file} is not edited: its comments would be lost.`,
        { hint: "Change it in your editor." },
      );
  }
}

function setInJson(file: string, text: string, change: Change): string {
  const indentation = /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
  return `${JSON.stringify(withValue(readJson(file, text), change), null, indentation)}\n`;
}

function readJson(file: string, text: string): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new ConfigError("config_unreadable", `${file}: ${describeSyntaxError(error)}`);
  }
  if (isJsonObject(value)) return value;
  throw new ConfigError("config_unreadable", `${file}: expected a JSON object.`);
}
