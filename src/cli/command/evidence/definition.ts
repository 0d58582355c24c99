/** Options and help of `jp evidence`. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import { FORMAT_OPTIONS } from "../../options.ts";
import { EXPORT_OPTIONS, KEY_OPTIONS, REPORT_OPTIONS, VERIFY_OPTIONS } from "./options.ts";

export function defineEvidence(group: Command): void {
  defineExport(group);
  defineVerify(group);
  defineReport(group);
  defineAnchor(group);
  defineKey(group);
}

function defineExport(group: Command): void {
  define(
    group.command("export"),
    EXPORT_OPTIONS,
    async () => (await import("./export.ts")).exportToFile,
  )
    .description("Write what was decided to one file, signed by this machine")
    .addHelpText(
      "after",
      `
Writes JSON lines of signed statements: for each decision who made it, how jp
knows that, what they were shown (as a digest), under which policy, when, and
what came of it. Secrets are never in it. The first export makes the key of this
machine.

A conversation is exported whole: with --since, each that has changed since. What
record and chain do not agree about is named in the export.`,
    );
}

function defineVerify(group: Command): void {
  define(
    group.command("verify"),
    VERIFY_OPTIONS,
    async () => (await import("./verify.ts")).verifyFile,
  )
    .description("Check a file of evidence, and say what it proves")
    .argument("<file>", "File that `jp evidence export` has written")
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
    );
}

function defineReport(group: Command): void {
  define(
    group.command("report"),
    REPORT_OPTIONS,
    async () => (await import("./report.ts")).printReport,
  )
    .description("Make a sheet with a sample of decisions, for an audit")
    .argument("[file]", "Report on this file of evidence (default: on this workspace)")
    .addHelpText(
      "after",
      `
The same seed chooses the same decisions. A file is verified first, and jp makes
no report if something is wrong with it.`,
    );
}

function defineAnchor(group: Command): void {
  define(group.command("anchor"), FORMAT_OPTIONS, async () => (await import("./anchor.ts")).anchor)
    .description("Anchor the log of what was decided outside of this machine")
    .addHelpText(
      "after",
      `
Sends a digest of what is new in the log to the place that proof.anchor in your
config names: a time stamp authority, or a git repository. It shows nothing of
what was decided. Exports contain the anchors. See docs/proof.md.`,
    );
}

function defineKey(group: Command): void {
  define(group.command("key"), KEY_OPTIONS, async () => (await import("./export.ts")).printKey)
    .description("Print the public key of this machine")
    .addHelpText(
      "after",
      `
Makes the key if there is none. Give its ID to whoever verifies your exports.`,
    );
}
