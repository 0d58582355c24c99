/** Options and help of `jp serve`. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import { FORMAT_OPTIONS, NO_OPTIONS } from "../../options.ts";
import {
  ADD_KEY_OPTIONS,
  ADD_PERSON_OPTIONS,
  AWAY_OPTIONS,
  LINK_OPTIONS,
  SERVE_OPTIONS,
  SET_PERSON_OPTIONS,
} from "./options.ts";

export function defineServe(definition: Command): void {
  define(definition, SERVE_OPTIONS, async () => (await import("./serve.ts")).serve).addHelpText(
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
  );
  const people = definition
    .command("people")
    .description("Add, change, list and remove the people who may use the page and the API");
  definePeople(people);
}

function definePeople(group: Command): void {
  define(
    group.command("add <name>"),
    ADD_PERSON_OPTIONS,
    async () => (await import("./people.ts")).addPerson,
  )
    .description("Add a person, and print the token that they log in with")
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
    );
  define(
    group.command("set <person>"),
    SET_PERSON_OPTIONS,
    async () => (await import("./people.ts")).changePerson,
  ).description("Change a person's rights, roles or OS user; what is not given stays");
  define(
    group.command("ls"),
    FORMAT_OPTIONS,
    async () => (await import("./people.ts")).listPeople,
  ).description("List the people, their rights and their roles");
  define(
    group.command("away <person>"),
    AWAY_OPTIONS,
    async () => (await import("./people.ts")).setPersonAway,
  )
    .description("Let another person decide in their place until a date")
    .addHelpText(
      "after",
      `
The other person then decides what is for this one and for their roles, and the
record says in whose place. It cannot be passed on a second time, and it lets no
one approve what the absent person has asked for.`,
    );
  define(
    group.command("back <person>"),
    NO_OPTIONS,
    async () => (await import("./people.ts")).setPersonBack,
  ).description("Say that they are back and decide for themselves again");
  define(
    group.command("rm <person>"),
    NO_OPTIONS,
    async () => (await import("./people.ts")).removePerson,
  ).description("Remove a person; their token stops working");
  defineAccounts(group);
  defineKeys(
    group
      .command("key")
      .description("Add, list and remove the keys with which people sign what has to be signed"),
  );
}

function defineAccounts(group: Command): void {
  define(
    group.command("token <person>"),
    NO_OPTIONS,
    async () => (await import("./accounts.ts")).renewToken,
  ).description("Give a person another token; the one before stops working");
  define(
    group.command("link <person>"),
    LINK_OPTIONS,
    async () => (await import("./accounts.ts")).createLink,
  )
    .description("Print a link with which they add a passkey on the page, once, within 24 hours")
    .addHelpText(
      "after",
      `
The first passkey takes such a link, and so does one for another address, or
after a loss. Further ones are allowed by a passkey that is there. They open the
link and log in with their own token. Send it in another way than the token: with
both, anyone can sign as them. Another link replaces it.`,
    );
  define(
    group.command("confirm <person>"),
    NO_OPTIONS,
    async () => (await import("./accounts.ts")).confirmPerson,
  )
    .description("Confirm an account that was added at the desk, so that it counts")
    .addHelpText(
      "after",
      `
An account that an administrator adds at the desk decides nothing that is for
certain people or takes several of them, until it is confirmed: here, or at the desk by
an administrator who did not add it, and neither added whoever did nor was added by
them. Accounts from the command line count at once.`,
    );
  define(
    group.command("log"),
    FORMAT_OPTIONS,
    async () => (await import("./accounts.ts")).showLog,
  ).description("Show what was changed about people, by whom and from where, oldest first");
}

function defineKeys(group: Command): void {
  define(
    group.command("add <person>"),
    ADD_KEY_OPTIONS,
    async () => (await import("./keys.ts")).addKey,
  )
    .description("Add an Ed25519 key with which they sign on a terminal")
    .addHelpText(
      "after",
      `
What config says has to be signed (target = { role = "release", proof = "signed" }),
counts only with the signature of a key of whoever says yes. On a terminal, jp
signs with the first key of the person whose OS user runs it. \`ssh-add -l\` lists
the fingerprints of the SSH agent, such as SHA256:47DEQpj8HBSa….

Passkeys are added on the page of \`jp serve\`, by the person themself: see
\`jp serve people link\`. Each change of keys ends the person's sessions at the desk.`,
    );
  define(
    group.command("ls"),
    FORMAT_OPTIONS,
    async () => (await import("./keys.ts")).listKeys,
  ).description("List the keys of all people");
  define(
    group.command("rm <person> <id>"),
    NO_OPTIONS,
    async () => (await import("./keys.ts")).removeKey,
  ).description("Remove a key, or a passkey; what it has signed stays on record");
}
