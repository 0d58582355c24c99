/** Schema of a command: one line in shell notation, or its parts. Replaced as a whole. */
import * as v from "valibot";
import { scanWords } from "../split-words.ts";
import { behaviour } from "./node.ts";

/** A program and its arguments. */
export interface CommandConfig {
  readonly program: string;
  readonly args: readonly string[];
  /** Run by `sh -c`: `program` is shell code, and every argument is quoted. */
  readonly shell: boolean;
}

const EMPTY = "must not be empty";

export const commandSchema = v.pipe(
  v.union([
    v.string(),
    v.object({
      program: v.pipe(v.string(), v.nonEmpty(EMPTY)),
      args: v.optional(v.pipe(v.array(v.string()), behaviour({ synonyms: ["arguments"] })), []),
      shell: v.optional(v.boolean(), false),
    }),
  ]),
  v.rawTransform(({ dataset, addIssue, NEVER }): CommandConfig => {
    const { value } = dataset;
    if (typeof value !== "string") return value;
    const { words, rest } = scanWords(value);
    const [program = "", ...args] = words;
    if (rest === "" && program !== "") return { program, args, shell: false };
    addIssue({
      message:
        rest === ""
          ? EMPTY
          : rest === "\\"
            ? "ends with a lone backslash"
            : "has an unclosed quote",
    });
    return NEVER;
  }),
);
