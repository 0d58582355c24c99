/** Options and help of `jp query`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  collect,
  command,
  COMPACT_HELP,
  compactOption,
  formatOption,
  modeOption,
  parseCount,
  withConfigOption,
  withToolOptions,
} from "../../define.ts";
import { labelOption } from "../../labels.ts";

export function defineQuery(definition: Command): void {
  withToolOptions(withConfigOption(definition))
    .argument("[words...]", "Your message; @file reads it from a file")
    .option("-n, --new", "Start a new conversation")
    .option("--id <target>", "Continue this conversation")
    .option("-r, --replay", "Send the last message again; words add to it, -e edits it")
    .option(
      "--fork [turns]",
      "Ask in a copy of the conversation, or of its last <turns> turns",
      parseForkTurns,
    )
    .addOption(labelOption("Label the conversation: key or key=value; repeatable"))
    .option("--title <title>", "Title of a new conversation")
    .option("-l, --local", "Store a new conversation outside the workspace, for you alone")
    .option("-m, --model <model>", "Use this model: provider/name or an alias")
    .option("-p, --param <key=value>", "Set a model parameter; repeatable", collect)
    .addOption(modeOption())
    .option(
      "-a, --attach <what>",
      "Attach a path, a pattern, https://…, cmd:… or an MCP resource; repeatable",
      collect,
    )
    .addOption(new Option("--attachment <what>").argParser(collect).hideHelp())
    .option("-e, --edit", "Write the message in your editor")
    .option("-E, --no-edit", "Never open the editor")
    .option("-s, --schema <schema>", "Answer in JSON that matches this JSON Schema, or @file")
    .addOption(formatOption("text", "json"))
    .option("--hide-reasoning", "Hide the model's reasoning")
    .option("--non-interactive", "Never prompt; apply the configured policy")
    .option("--defer", "Never prompt; leave questions for later and exit with status 4")
    .option("--enqueue", "Leave the turn to a worker and print the conversation's id")
    .option("--queue <name>", "With --enqueue: leave it to the workers of this name")
    .option("--follow", "With --enqueue: show what the worker does until the turn ends or waits")
    .option("--continue-turn", "Continue an incomplete turn")
    .option("--discard-turn", "Discard an incomplete turn and start a new one")
    .option("--answers <file>", "Take all answers from a file; fail if one is missing")
    .addOption(compactOption())
    .option("--show-prompt", "Print what would be sent to the model, and send nothing")
    .option("--no-persist", "Do not save anything to disk")
    .option("-v, --verbose", "Print token usage")
    .addHelpText("after", HELP)
    .action(command(async () => (await import("./query.ts")).query));
}

const HELP = `
The message is what you type, followed by what you pipe in. Without either,
your editor opens, or a prompt if no editor is set. The answer goes to stdout,
tool activity and notices to stderr, and questions to the terminal. The
conversation remembers what you set with -m, -p, -t, -T, -a and --cfg.

@path in the message attaches a file or a folder like -a, if the path exists.
Write \\@path to send it as text, and @"a path" for one with spaces. Attachments
are read again for each turn. A file from outside the workspace is copied into
the conversation. \`jp attachment\` lists and removes attachments.

With -r, the new turn replaces the last one: the model no longer sees it, but it
stays on record. jp prints the command that goes back to it.

With --enqueue, which needs a store in a database, \`jp worker\` runs the turn,
here or on another machine. Its questions wait; see \`jp inquiry ls --pending\`.

With JP_PLAIN=1, questions are plain lines of text, for screen readers and
simple terminals.

The file for --answers is TOML, JSON or YAML. It answers for you: everything
that jp would ask you needs an entry, and each entry must be used. Otherwise jp
says what is wrong and exits with status 1. A question without an entry stays
open. \`jp inquiry export --answers\` writes such a file:

  [[permissions]]
  tool = "deploy"
  decision = "approve"      # or deny

  [[answers]]
  tool = "deploy"
  question = "region"
  answer = "eu"

${COMPACT_HELP}

Exit status: 0 if the assistant answered, 1 for an error, 3 if it answered but
jp denied something because it could not ask you, 4 if the turn waits for an
answer, 130 if interrupted.`;

/** The word after `--fork` may be a misplaced message. */
function parseForkTurns(text: string): number {
  if (/^\d+$/.test(text)) return parseCount(text);
  throw new InvalidArgumentError(
    "Expected a number of turns. Write your message before --fork, or after `--`.",
  );
}
