/** Options and help of `jp evidence`. */
import { type Command, Option } from "commander";
import { DECIDERS } from "../../../record/conversation/index.ts";
import { collect, command, formatOption, parseCount, repeatableChoice } from "../../define.ts";

/** The usual size of an audit sample. */
const SAMPLE = 25;

export function defineEvidence(group: Command): void {
  defineExport(group);
  defineVerify(group);
  defineReport(group);
  defineAnchor(group);
  defineKey(group);
}

function defineExport(group: Command): void {
  withSelection(
    group
      .command("export")
      .description("Write what was decided to one file, signed by this machine"),
  )
    .option("--content", "With what was asked, answered and done, and not only its digests")
    .option("-o, --output <file>", "Write to this file, which must not exist (default: print)")
    .addHelpText(
      "after",
      `
Writes JSON lines of signed statements: for each decision who made it, how jp
knows that, what they were shown (as a digest), under which policy, when, and
what came of it. Secrets are never in it. The first export makes the key of this
machine.

A conversation is exported whole: with --since, each that has changed since. What
record and chain do not agree about is named in the export.`,
    )
    .action(command(async () => (await import("./export.ts")).exportToFile));
}

function defineVerify(group: Command): void {
  group
    .command("verify")
    .description("Check a file of evidence, and say what it proves")
    .argument("<file>", "File that `jp evidence export` has written")
    .option("--key <key>", "Key that must have signed it: its ID, or a public key in a PEM file")
    .option("--tsa-cert <file>", "Certificates of the authorities that time stamps must come from")
    .option("--git <folder>", "Clone of the repository that must have the anchors")
    .option("--strict", "Fail if the owner of the machine stood in for people")
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Without --key, anyone could have made the file: jp says that it is self-signed.
Get the ID of the key from its owner, in another way than the file: see
\`jp evidence key\`. If something is wrong, the exit status is 1.

jp judges every decision again, by its terms on record and the people that its
links name. It lists what it could not judge.

Without --tsa-cert, jp checks the signature of a time stamp, but not whose it
is. Without --git, it does not look for the commit of an anchor.`,
    )
    .action(command(async () => (await import("./verify.ts")).verifyFile));
}

function defineReport(group: Command): void {
  withSelection(
    group.command("report").description("Make a sheet with a sample of decisions, for an audit"),
  )
    .argument("[file]", "Report on this file of evidence (default: on this workspace)")
    .option("--sample <count>", "How many decisions to choose", parseCount, SAMPLE)
    .option("--seed <text>", "Choose by this text, such as one from the auditor", "")
    .addOption(repeatableChoice("--by <who>", "Only decided by this party; repeatable", DECIDERS))
    .option("--key <key>", "Key that must have signed the file")
    .addOption(
      new Option("-F, --format <format>", "Output format")
        .choices(["markdown", "csv"])
        .default("markdown"),
    )
    .addHelpText(
      "after",
      `
The same seed chooses the same decisions. A file is verified first, and jp makes
no report if something is wrong with it.`,
    )
    .action(command(async () => (await import("./report.ts")).printReport));
}

function defineAnchor(group: Command): void {
  group
    .command("anchor")
    .description("Anchor the log of what was decided outside of this machine")
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Sends a digest of what is new in the log to the place that proof.anchor in your
config names: a time stamp authority, or a git repository. It shows nothing of
what was decided. Exports contain the anchors. See docs/proof.md.`,
    )
    .action(command(async () => (await import("./anchor.ts")).anchor));
}

function defineKey(group: Command): void {
  group
    .command("key")
    .description("Print the public key of this machine")
    .addOption(formatOption("text", "json", "pem"))
    .addHelpText(
      "after",
      `
Makes the key if there is none. Give its ID to whoever verifies your exports.`,
    )
    .action(command(async () => (await import("./export.ts")).printKey));
}

function withSelection(definition: Command): Command {
  return definition
    .option("-c, --conversation <target>", "Only this conversation; repeatable", collect)
    .option("--since <time>", "Only conversations that have changed since: 3d, 2026-01-31, …");
}
