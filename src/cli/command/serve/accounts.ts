/** `jp serve people token`, `link`, `confirm` and `log`: login, confirmation of accounts, and the log of changes. */
import { peopleOf } from "../../../assemble/index.ts";
import { isConfirmed, looksLike, type Member } from "../../../settings/people/index.ts";
import { describePeopleChange } from "../../../surfaces/render/index.ts";
import { jsonLine, oneLine } from "../../../util/index.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { parseOrigin } from "./origin.ts";
import { describe, notFoundError } from "./people.ts";
import type { LINK } from "./options.ts";
import type { FORMAT_OPTIONS } from "../../options.ts";

/** Prints the token alone, so that it can be piped. Throws `person_not_found`. */
export async function renewToken({ args: [name = ""], context }: Call): Promise<void> {
  const { output } = context;
  const token = await (await peopleOf(context)).renewToken(name);
  if (token === undefined) throw notFoundError(name);
  output.notice(`Another token for ${oneLine(name)}, which jp will not show again:`);
  output.print(token);
  output.flush();
  output.notice("The one before no longer works, and their sessions have ended.");
}

/** Prints the link alone, so that it can be piped. Throws `usage`, `person_not_found`. */
export async function createLink({
  args: [name = ""],
  options: { origin },
  context,
}: Call<typeof LINK>): Promise<void> {
  const { output } = context;
  if (origin === undefined) {
    throw usageError("Pass --origin with the address of the page, as `jp serve` prints it.");
  }
  const address = parseOrigin(origin);
  const code = await (await peopleOf(context)).createLink(name);
  if (code === undefined) throw notFoundError(name);
  output.notice(`With this link, ${oneLine(name)} adds a passkey. It works once, for 24 hours:`);
  output.print(`${address}/#passkey=${code}`);
  output.flush();
  output.notice("They open it and log in with their own token.");
}

/** Throws `person_not_found`. */
export async function confirmPerson({ args: [name = ""], context }: Call): Promise<void> {
  const { output } = context;
  const people = await peopleOf(context);
  const all = await people.list();
  const person = findNamed(all, name);
  if (person === undefined) throw notFoundError(name);
  if (isConfirmed(person) || !(await people.confirm(person.id))) {
    return output.notice(`${oneLine(person.name)} counts already.`);
  }
  output.notice(`Confirmed ${describe({ ...person, confirmedAt: context.clock.now() }, all)}.`);
}

function findNamed(people: readonly Member[], name: string): Member | undefined {
  return (
    people.find((person) => person.name === name) ??
    people.find((person) => looksLike(person.name, name))
  );
}

export async function showLog({
  options: { format },
  context,
}: Call<typeof FORMAT_OPTIONS>): Promise<void> {
  const { output } = context;
  const entries = await (await peopleOf(context)).readLog();
  if (entries.length === 0 && format !== "json") output.notice("No changes to people yet.");
  for (const entry of entries) {
    const { at, name, person_id: id } = entry;
    const time = at.slice(0, 19).replace("T", " ");
    output.print(
      format === "json"
        ? jsonLine(entry)
        : oneLine(`${time} ${name} (${id}): ${describePeopleChange(entry)}`),
    );
  }
}
