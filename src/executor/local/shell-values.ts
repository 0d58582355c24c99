/**
 * Values in the text of a shell program. A value is never part of that text: it is assigned to a
 * variable in front of it, quoted, and the text refers to the variable so that the value is one word,
 * or a part of one, where it stands. Hence no value is read as code; should a place in the text be
 * misjudged, a value may be split into words, but still not run.
 *
 *     echo {{a}} "to {{b}}"   becomes   jp_value_1='…' jp_value_2='…'; echo "${jp_value_1}" "to ${jp_value_2}"
 *
 * What a program evaluates itself (`eval`, text it hands to another shell) is beyond this.
 */
import { quoteWord } from "../../util/index.ts";
import { type Place, replaceReferences } from "./shell-places.ts";
import { TemplateError } from "./template-error.ts";

export class ShellValues {
  readonly #prefix: string;
  readonly #pattern: string;
  readonly #values: string[] = [];

  /** The names of our variables must not occur in `taken`. */
  constructor(taken: string) {
    let prefix = "jp_value_";
    while (taken.includes(prefix)) prefix = `${prefix}_`;
    this.#prefix = prefix;
    this.#pattern = String.raw`\$\{${prefix}\d+\}`;
  }

  /** What stands for the value until the program is complete. */
  add(value: string): string {
    // What a template captures and prints later holds such references.
    const plain = value.replaceAll(new RegExp(this.#pattern, "g"), (found) => this.#valueOf(found));
    return `\${${this.#prefix}${this.#values.push(plain)}}`;
  }

  /** Throws `TemplateError` if a value is where none can be. */
  completeProgram(text: string): string {
    if (this.#values.length === 0) return text;
    const assignments = this.#values.map(
      (value, index) => `${this.#prefix}${index + 1}=${quoteWord(value)}`,
    );
    const program = replaceReferences(text, {
      pattern: this.#pattern,
      replace: (reference, place) => this.#refer(reference, place),
    });
    return `${assignments.join(" ")}; ${program}`;
  }

  #valueOf(reference: string): string {
    return this.#values[Number(reference.slice(2 + this.#prefix.length, -1)) - 1] ?? "";
  }

  #refer(reference: string, place: Place): string {
    switch (place) {
      case "command":
      case "group":
      case "backquote":
        return `"${reference}"`;
      case "double":
      case "here":
        return reference;
      case "single":
        return `'"${reference}"'`;
      case "arithmetic":
      case "term":
        return wholeNumber(this.#valueOf(reference));
      case "verbatim":
        throw new TemplateError(
          "in the program, a value stands in a here-document whose delimiter is quoted. " +
            "Take those quotes away.",
        );
      default:
        return place satisfies never;
    }
  }
}

/** Some shells run commands that they find inside of a variable in arithmetic. */
function wholeNumber(value: string): string {
  if (/^-?\d+$/.test(value)) return value;
  throw new TemplateError(
    "in the program, a value that is no whole number stands in an arithmetic expression. " +
      "Let the program check it first.",
  );
}
