/** Renders a command in the config and its templates to a program and its arguments. */
import type { CommandConfig } from "../../../settings/config/index.ts";
import { findSystemProgram, type Program, quoteWord } from "../../process/index.ts";
import { type Place, replaceReferences } from "./shell-places.ts";
import { renderTemplate, type TemplateContext, TemplateError } from "./template.ts";

/**
 * Each part is rendered by itself, so a value never becomes two arguments. `find` returns the values; a plain program
 * without templates needs none. Throws `TemplateError`.
 */
export async function renderCommand(
  command: CommandConfig,
  find: () => TemplateContext,
): Promise<Pick<Program, "program" | "args">> {
  const args: string[] = [];
  for (const [index, source] of command.args.entries()) {
    args.push(await renderTemplate({ name: `argument ${index + 1}`, source }, find));
  }
  const template = { name: "the program", source: command.program };
  if (!command.shell) return { program: await renderTemplate(template, find), args };
  const values = new ShellValues(command.program + JSON.stringify(find().document));
  const text = await renderTemplate(template, find, (value) => values.add(value));
  return {
    program: findShell(),
    args: ["-c", [values.completeProgram(text), ...args.map(quoteWord)].join(" ")],
  };
}

/** Never a shell from the workspace, even if PATH leads there. */
export function findShell(): string {
  return findSystemProgram("sh") ?? "/bin/sh";
}

/**
 * Values in the text of a shell program. A value is never part of that text: it is assigned to a variable in front of it,
 * quoted, and the text refers to the variable so that the value is one word, or a part of one, where it stands. So no
 * value is read as code. If a place in the text is misjudged, a value may be split into words, but still not run.
 *
 *     echo {{a}} "to {{b}}"   becomes   jp_value_1='…' jp_value_2='…'; echo "${jp_value_1}" "to ${jp_value_2}"
 *
 * Text that the program evaluates itself (`eval`, text passed to another shell) is out of reach.
 */
class ShellValues {
  readonly #prefix: string;
  readonly #pattern: string;
  readonly #values: string[] = [];

  /** The names of the variables do not occur in `taken`. */
  constructor(taken: string) {
    let prefix = "jp_value_";
    while (taken.includes(prefix)) prefix = `${prefix}_`;
    this.#prefix = prefix;
    this.#pattern = String.raw`\$\{${prefix}\d+\}`;
  }

  /** Returns a placeholder for the value. */
  add(value: string): string {
    // A template may capture text that contains placeholders, and print it later.
    const plain = value.replaceAll(new RegExp(this.#pattern, "g"), (found) => this.#valueOf(found));
    return `\${${this.#prefix}${this.#values.push(plain)}}`;
  }

  /** Throws `TemplateError` if a value is where none is allowed. */
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
        return assertWholeNumber(this.#valueOf(reference));
      case "verbatim":
        throw new TemplateError(
          "the program has a value in a here-document whose delimiter is quoted. " +
            "Remove those quotes.",
        );
      default:
        return place satisfies never;
    }
  }
}

/** Some shells run commands inside a variable that an arithmetic expression uses. */
function assertWholeNumber(value: string): string {
  if (/^-?\d+$/.test(value)) return value;
  throw new TemplateError(
    "the program has a value in an arithmetic expression that is not a whole number. " +
      "Check it in the program first.",
  );
}
