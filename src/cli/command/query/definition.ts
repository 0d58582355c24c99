/** `jp query`: the words that describe it. */
import type { Command } from "commander";
import { collect, command, formatOption, withDirectives, withSettings } from "../../define.ts";

export function defineQuery(definition: Command): void {
  withDirectives(withSettings(definition))
    .argument("[words...]", "what to ask; @file for what a file says")
    .option("-n, --new", "begin a new conversation")
    .option("--id <target>", "go on with this conversation instead of the active one")
    .option("--title <title>", "the title of a new conversation")
    .option("-l, --local", "keep a new conversation for you alone")
    .option("-m, --model <model>", "the model: provider/name, or an alias")
    .option("-p, --param <key=value>", "a parameter of the model; may be repeated", collect)
    .option("-e, --edit", "write the message in the editor")
    .option("-E, --no-edit", "never open the editor")
    .option("-s, --schema <schema>", "answer in JSON that fits this JSON Schema, or @file")
    .addOption(formatOption("text", "json"))
    .option("--hide-reasoning", "do not show what the model thinks")
    .option("--non-interactive", "ask nobody; policy decides")
    .option("--no-persist", "leave nothing on the disk")
    .option("-v, --verbose", "say what it has cost")
    .addHelpText(
      "after",
      `
Without words, what is piped in is the message; on a terminal the editor
opens. With both, what is piped in follows the words. The answer goes to
standard output, tools and notices to standard error, questions to the
terminal. What -m, -p, -t, -T and --cfg say holds for the conversation from
then on.

With JP_PLAIN=1, questions are lines of text, for screen readers and simple
terminals.

Exit status: 0 if the assistant has answered, 1 for an error, 3 if it has
answered but jp denied something because it could not ask you, 130 if it was
interrupted.`,
    )
    .action(command(async () => (await import("./query.ts")).query));
}
