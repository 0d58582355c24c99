/** Options and help of `jp evidence`. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import { FORMAT_OPTIONS } from "../../options.ts";
import * as options from "./options.ts";

export function defineEvidence(group: Command): void {
  defineExport(group);
  defineVerify(group);
  defineReport(group);
  defineAnchor(group);
  defineKey(group);
}

function defineExport(group: Command): void {
  define(group.command("export"), {
    description: "Write what was decided to one file, signed by this machine",
    options: options.EXPORT,
    help: `
Writes JSON lines of signed statements: for each decision who made it, how jp
knows that, what they were shown (as a digest), under which policy, when, and
what came of it. Secrets are never in it. The first export makes the key of this
machine.

A conversation is exported whole: with --since, each that has changed since.
What record and chain do not agree about is named in the export.`,
    run: async () => (await import("./export.ts")).exportToFile,
  });
}

function defineVerify(group: Command): void {
  define(group.command("verify"), {
    description: "Check a file of evidence, and say what it proves",
    options: options.VERIFY,
    help: `
Without --key, anyone could have made the file: jp says that it is self-signed.
Get the ID of the key from its owner, in another way than the file: see
\`jp evidence key\`. If something is wrong, the exit status is 1.

jp judges every decision again, by its terms on record and the people that its
links name. It lists what it could not judge.

Without --tsa-cert, jp checks the signature of a time stamp, but not whose it
is. Without --git, it does not look for the commit of an anchor. --seen is for
conversations of databases: it compares their last turns with the states that
this machine has seen of them.`,
    run: async () => (await import("./verify.ts")).verifyFile,
  }).argument("<file>", "File that `jp evidence export` has written");
}

function defineReport(group: Command): void {
  define(group.command("report"), {
    description: "Make a sheet with a sample of decisions, for an audit",
    options: options.REPORT,
    help: `
The same seed chooses the same decisions. A file is verified first, and jp makes
no report if something is wrong with it.`,
    run: async () => (await import("./report.ts")).printReport,
  }).argument("[file]", "Report on this file of evidence (default: on this workspace)");
}

function defineAnchor(group: Command): void {
  define(group.command("anchor"), {
    description: "Anchor the log of what was decided outside of this machine",
    options: FORMAT_OPTIONS,
    help: `
Sends a digest of what is new in the log to the place that proof.anchor in your
config names: a time stamp authority, or a git repository. It shows nothing of
what was decided. Exports contain the anchors. See docs/proof.md.`,
    run: async () => (await import("./anchor.ts")).anchor,
  });
}

function defineKey(group: Command): void {
  define(group.command("key"), {
    description: "Print the public key of this machine",
    options: options.KEY,
    help: `
Makes the key if there is none. Give its ID to whoever verifies your exports.`,
    run: async () => (await import("./export.ts")).printKey,
  });
}
