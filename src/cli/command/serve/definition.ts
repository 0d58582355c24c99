/** Options and help of `jp serve`. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import { FORMAT_OPTIONS } from "../../options.ts";
import * as options from "./options.ts";

export function defineServe(definition: Command): void {
  define(definition, {
    options: options.SERVE,
    help: `
Serves a page and an API where you answer what is waiting, and read
conversations. Prints a link that logs you in. The link works once; press Enter
for another one. If a phone can open it, jp prints it as a QR code too, on a
terminal only: whoever sees it can log in as you. Other people, and programs,
log in with their own tokens: see \`jp serve people\`.

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
    run: async () => (await import("./serve.ts")).serve,
  });
  const people = definition
    .command("people")
    .description("Add, change, list and remove the people who may use the page and the API");
  definePeople(people);
}

function definePeople(group: Command): void {
  define(group.command("add <name>"), {
    description: "Add a person, and print the token that they log in with",
    options: options.ADD_PERSON,
    help: `
jp prints the token once and stores only its hash. Answers are recorded with
the name. The rights:
  see         read conversations, and what is waiting
  answer      answer questions
  approve     allow or deny tool calls and deliveries
  administer  add and remove people, through the API, and confirm accounts

What config says is for a role, only those who have it decide. On a terminal,
they are known by the OS user that runs jp, and on the page by their token.`,
    run: async () => (await import("./people.ts")).addPerson,
  });
  define(group.command("set <person>"), {
    description: "Change a person's rights, roles or OS user; what is not given stays",
    options: options.SET_PERSON,
    run: async () => (await import("./people.ts")).changePerson,
  });
  define(group.command("ls"), {
    description: "List the people, their rights and their roles",
    options: FORMAT_OPTIONS,
    run: async () => (await import("./people.ts")).listPeople,
  });
  define(group.command("away <person>"), {
    description: "Let another person decide in their place until a date",
    options: options.AWAY,
    help: `
The other person then decides what is for this one and for their roles, and the
record says in whose place. It cannot be passed on a second time, and it lets no
one approve what the absent person has asked for.`,
    run: async () => (await import("./people.ts")).setPersonAway,
  });
  define(group.command("back <person>"), {
    description: "Say that they are back and decide for themselves again",
    run: async () => (await import("./people.ts")).setPersonBack,
  });
  define(group.command("rm <person>"), {
    description: "Remove a person; their token stops working",
    run: async () => (await import("./people.ts")).removePerson,
  });
  defineAccounts(group);
  defineKeys(
    group
      .command("key")
      .description("Add, list and remove the keys with which people sign what has to be signed"),
  );
}

function defineAccounts(group: Command): void {
  define(group.command("token <person>"), {
    description: "Give a person another token; the one before stops working",
    run: async () => (await import("./accounts.ts")).renewToken,
  });
  define(group.command("link <person>"), {
    description: "Print a link with which they add a passkey on the page, once, within 24 hours",
    options: options.LINK,
    help: `
The first passkey takes such a link, and so does one for another address, or
after a loss. Further ones are allowed by a passkey that is there. They open the
link and log in with their own token. Send it in another way than the token:
with both, anyone can sign as them. Another link replaces it.`,
    run: async () => (await import("./accounts.ts")).createLink,
  });
  define(group.command("confirm <person>"), {
    description: "Confirm an account that was added at the desk, so that it counts",
    help: `
An account that an administrator adds at the desk decides nothing that is for
certain people or takes several of them, until it is confirmed: here, or at the
desk by an administrator who did not add it, and neither added whoever did nor
was added by them. Accounts from the command line count at once.`,
    run: async () => (await import("./accounts.ts")).confirmPerson,
  });
  define(group.command("log"), {
    description: "Show what was changed about people, by whom and from where, oldest first",
    options: FORMAT_OPTIONS,
    run: async () => (await import("./accounts.ts")).showLog,
  });
}

function defineKeys(group: Command): void {
  define(group.command("add <person>"), {
    description: "Add an Ed25519 key with which they sign on a terminal",
    options: options.ADD_KEY,
    help: `
What config says has to be signed, as in
  target = { role = "release", proof = "signed" }
counts only with the signature of a key of whoever says yes. On a terminal, jp
signs with the first key of the person whose OS user runs it. \`ssh-add -l\`
lists the fingerprints of the SSH agent, such as SHA256:47DEQpj8HBSa….

Passkeys are added on the page of \`jp serve\`, by the person themself: see
\`jp serve people link\`. Each change of keys ends the person's sessions at the
desk.`,
    run: async () => (await import("./keys.ts")).addKey,
  });
  define(group.command("ls"), {
    description: "List the keys of all people",
    options: FORMAT_OPTIONS,
    run: async () => (await import("./keys.ts")).listKeys,
  });
  define(group.command("rm <person> <id>"), {
    description: "Remove a key, or a passkey; what it has signed stays on record",
    run: async () => (await import("./keys.ts")).removeKey,
  });
}
