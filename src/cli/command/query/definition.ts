/** Options and help of `jp query`. */
import type { Command } from "commander";
import { COMPACT_HELP, define } from "../../define.ts";
import * as options from "./options.ts";

export function defineQuery(definition: Command): void {
  define(definition, {
    options: options.QUERY,
    help: HELP,
    run: async () => (await import("./query.ts")).query,
  }).argument("[words...]", "Your message; @file reads it from a file");
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
