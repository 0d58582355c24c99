/** Options and help of `jp serve`. */
import { type Command, Option } from "commander";
import { command, formatOption, parsePort } from "../../define.ts";

export function defineServe(definition: Command): void {
  definition
    .option("--host <address>", "Address to listen on", "127.0.0.1")
    .option("--port <number>", "Port to listen on (default: any free port)", parsePort)
    .option("--run", "Continue a turn once its last open question is answered")
    .option("--all", "Serve all workspaces that jp knows on this machine, or in the database")
    .option("--tls-cert <file>", "Serve HTTPS with this certificate (PEM)")
    .option("--tls-key <file>", "Private key of the certificate (PEM)")
    .option("--origin <url>", "Address that people open, if it differs: behind a proxy or tunnel")
    .addOption(
      new Option(
        "--qr",
        "Print the link as a QR code too, also if only this machine can open it",
      ).conflicts("format"),
    )
    .addOption(new Option("--no-qr", "Print no QR code"))
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Serves a page and an API where you answer what is waiting, and read
conversations. Prints a link that logs you in. The link works once; press Enter
for another one. If a phone can open it, jp prints it as a QR code too, on a
terminal only: whoever sees it can log in as you. Other people, and programs, log in with their own tokens:
see \`jp serve people\`.

On an address that other machines can reach, jp requires HTTPS. Pass --tls-cert
and --tls-key, or put a proxy in front and pass its address:
--origin https://desk.example.

With --run, jp continues a turn like
\`jp query --continue-turn --non-interactive --defer\`, in a separate process
that ends with the server.

With a database (--store), the server can run on any machine. Without a clone of
the workspace, it serves the one that storage.workspace names in your own
config, or all of them with --all. It then cannot --run turns.

--format json prints one object, with url and login. Ctrl-C stops the server.`,
    )
    .action(command(async () => (await import("./serve.ts")).serve));
  const people = definition
    .command("people")
    .description("Add, change, list and remove the people who may use the page and the API");
  definePeople(people);
}

function definePeople(group: Command): void {
  group
    .command("add <name>")
    .description("Add a person, and print the token that they log in with")
    .option("--rights <list>", "What they may do (default: see,answer,approve)")
    .option("--roles <list>", "What they decide for others, such as finance,operations")
    .option("--os-user <name>", "Their user name on this machine, for terminals")
    .addHelpText(
      "after",
      `
jp prints the token once and stores only its hash. Answers are recorded with
the name. The rights:
  see         read conversations, and what is waiting
  answer      answer questions
  approve     allow or deny tool calls and deliveries
  administer  add and remove people, through the API, and confirm accounts

What config says is for a role, only those who have it decide. On a terminal,
they are known by the OS user that runs jp, and on the page by their token.`,
    )
    .action(command(async () => (await import("./people.ts")).addPerson));
  group
    .command("set <person>")
    .description("Change a person's rights, roles or OS user; what is not given stays")
    .option("--rights <list>", "What they may do")
    .option("--roles <list>", "Their roles; an empty list removes all")
    .option("--os-user <name>", "Their user name on this machine; an empty one removes it")
    .action(command(async () => (await import("./people.ts")).changePerson));
  group
    .command("ls")
    .description("List the people, their rights and their roles")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./people.ts")).listPeople));
  group
    .command("away <person>")
    .description("Let another person decide in their place until a date")
    .requiredOption("--to <person>", "Who decides in their place")
    .requiredOption("--until <time>", "A date (2026-01-31, 2026-01-31T09:00), or how long (3d)")
    .addHelpText(
      "after",
      `
The other person then decides what is for this one and for their roles, and the
record says in whose place. It cannot be passed on a second time, and it lets no
one approve what the absent person has asked for.`,
    )
    .action(command(async () => (await import("./people.ts")).setPersonAway));
  group
    .command("back <person>")
    .description("Say that they are back and decide for themselves again")
    .action(command(async () => (await import("./people.ts")).setPersonBack));
  group
    .command("rm <person>")
    .description("Remove a person; their token stops working")
    .action(command(async () => (await import("./people.ts")).removePerson));
  defineAccounts(group);
  defineKeys(
    group
      .command("key")
      .description("Add, list and remove the keys with which people sign what has to be signed"),
  );
}

function defineAccounts(group: Command): void {
  group
    .command("token <person>")
    .description("Give a person another token; the one before stops working")
    .action(command(async () => (await import("./accounts.ts")).renewToken));
  group
    .command("link <person>")
    .description("Print a link with which they add a passkey on the page, once, within 24 hours")
    // Not `requiredOption`: it is also one of `jp serve`, which takes it first.
    .option("--origin <url>", "Address of the page, as they open it (required)")
    .addHelpText(
      "after",
      `
The first passkey takes such a link, and so does one for another address, or
after a loss. Further ones are allowed by a passkey that is there. They open the
link and log in with their own token. Send it in another way than the token: with
both, anyone can sign as them. Another link replaces it.`,
    )
    .action(command(async () => (await import("./accounts.ts")).createLink));
  group
    .command("confirm <person>")
    .description("Confirm an account that was added at the desk, so that it counts")
    .addHelpText(
      "after",
      `
An account that an administrator adds at the desk decides nothing that is for
certain people or takes several of them, until it is confirmed: here, or at the desk by
an administrator who did not add it, and neither added whoever did nor was added by
them. Accounts from the command line count at once.`,
    )
    .action(command(async () => (await import("./accounts.ts")).confirmPerson));
  group
    .command("log")
    .description("Show what was changed about people, by whom and from where, oldest first")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./accounts.ts")).showLog));
}

function defineKeys(group: Command): void {
  group
    .command("add <person>")
    .description("Add an Ed25519 key with which they sign on a terminal")
    .addOption(
      new Option(
        "--ssh-agent [fingerprint]",
        "A key of the SSH agent; the fingerprint may be left out if it has only one",
      ).conflicts(["file", "new"]),
    )
    .addOption(new Option("--file <path>", "A key in a file of yours").conflicts(["new"]))
    .option("--new", "Make a key, in a file that only you can read")
    .addHelpText(
      "after",
      `
What config says has to be signed (target = { role = "release", proof = "signed" }),
counts only with the signature of a key of whoever says yes. On a terminal, jp
signs with the first key of the person whose OS user runs it. \`ssh-add -l\` lists
the fingerprints of the SSH agent, such as SHA256:47DEQpj8HBSa….

Passkeys are added on the page of \`jp serve\`, by the person themself: see
\`jp serve people link\`. Each change of keys ends the person's sessions at the desk.`,
    )
    .action(command(async () => (await import("./keys.ts")).addKey));
  group
    .command("ls")
    .description("List the keys of all people")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./keys.ts")).listKeys));
  group
    .command("rm <person> <id>")
    .description("Remove a key, or a passkey; what it has signed stays on record")
    .action(command(async () => (await import("./keys.ts")).removeKey));
}
