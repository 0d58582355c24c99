/** `jp serve people`: who may use the desk, and their roles. */
import { localTime } from "../../../surfaces/render/index.ts";
import { peopleOf } from "../../../assemble/index.ts";
import { findSeconds, type PartialConfig } from "../../../settings/config/index.ts";
import {
  confirmationOf,
  DEFAULT_RIGHTS,
  isConfirmed,
  looksLike,
  type Person,
  type PersonSettings,
  type Right,
  RIGHTS,
} from "../../../settings/people/index.ts";
import { JpError, jsonLine, oneLine, shellWord } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { findDate } from "../../conversations.ts";
import { usageError } from "../../exit-status.ts";
import { trustedConfig } from "../../trust.ts";
import type { ADD_PERSON, AWAY, SET_PERSON } from "./options.ts";
import type { FORMAT_OPTIONS, FlagsOf } from "../../options.ts";

/** The person who logs in with the link is the one who started the server. */
export function findOwner(
  config: PartialConfig,
  { environment }: Pick<CommandContext, "environment">,
): Person {
  const { USER: user, LOGNAME: login } = environment.variables;
  const name = config.user?.name ?? user ?? login ?? "owner";
  return { name, rights: RIGHTS, isOwner: true };
}

/** Prints the token alone, so that it can be piped. Throws `person_exists`, `role_exists`, `os_user_taken`. */
export async function addPerson({
  args: [name = ""],
  options,
  context,
}: Call<typeof ADD_PERSON>): Promise<void> {
  const { rights = DEFAULT_RIGHTS, ...settings } = parseSettings(options);
  const owner = findOwner((await trustedConfig(context, {})).config, context);
  const token = await (await peopleOf(context)).add(name, rights, settings);
  const { output } = context;
  const added = describe({ name, rights, ...settings });
  output.notice(`Added ${added}. Their token, which jp will not show again:`);
  output.print(token);
  output.flush();
  output.notice("They enter it on the page; programs send it as Authorization: Bearer TOKEN.");
  if (!looksLike(name, owner.name)) return;
  warn(`${owner.name} is your own name: whoever has this token answers as you.`, output);
}

/** Changes only the given settings. Throws `person_not_found`, `role_exists`, `os_user_taken`. */
export async function changePerson({
  args: [name = ""],
  options,
  context,
}: Call<typeof SET_PERSON>): Promise<void> {
  const settings = parseSettings(options);
  if (Object.keys(settings).length === 0) {
    throw usageError("Nothing to change: give --rights, --roles or --os-user.");
  }
  const people = await peopleOf(context);
  if (!(await people.change(name, settings))) throw notFoundError(name);
  const all = await people.list();
  const changed = all.find((person) => looksLike(person.name, name));
  if (changed === undefined) return;
  context.output.notice(`Changed ${describe(changed, all)}.`);
  if (isConfirmed(changed)) return;
  const command = `jp serve people confirm ${shellWord(changed.name)}`;
  warn(
    `They were added at the desk, and do not count until you confirm them: ${command}`,
    context.output,
  );
}

/** Throws `person_not_found`, `invalid_absence`, `usage`. */
export async function setPersonAway({
  args: [name = ""],
  options: { to, until },
  context,
}: Call<typeof AWAY>): Promise<void> {
  const { clock, output } = context;
  const now = clock.now();
  const end = parseUntil(until, now);
  if (end <= now) throw usageError(`--until ${oneLine(until)}: expected a time in the future.`);
  const people = await peopleOf(context);
  if (!(await people.setAway(name, { to, until: end }))) throw notFoundError(name);
  output.notice(`${oneLine(to)} decides in place of ${oneLine(name)} until ${localTime(end)}.`);
}

/** Throws `person_not_found`. */
export async function setPersonBack({ args: [name = ""], context }: Call): Promise<void> {
  const people = await peopleOf(context);
  if (!(await people.setAway(name))) throw notFoundError(name);
  context.output.notice(`${oneLine(name)} is back.`);
}

/** Throws `usage`. */
function parseUntil(text: string, now: Date): Date {
  const seconds = findSeconds(text.trim());
  const end =
    seconds === undefined ? findDate(text.trim()) : new Date(now.getTime() + seconds * 1000);
  if (end !== undefined) return end;
  throw usageError(
    `Not a time: ${oneLine(text)}`,
    "Write how long (2h, 3d, 1w) or a date (2026-01-31, 2026-01-31T09:00).",
  );
}

/** Throws `usage`. */
function parseSettings({ rights, roles, osUser }: FlagsOf<typeof SET_PERSON>): PersonSettings {
  return {
    ...(rights !== undefined && { rights: parseRights(rights) }),
    ...(roles !== undefined && { roles: parseNames(roles) }),
    ...(osUser !== undefined && { osUser }),
  };
}

function parseNames(text: string): readonly string[] {
  return text.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
}

/** Throws `usage`. */
function parseRights(text: string): readonly Right[] {
  const names = text.split(",").map((name) => name.trim());
  const rights = RIGHTS.filter((right) => names.includes(right));
  if (rights.length === new Set(names).size) return rights;
  throw usageError(`--rights ${text}: expected one or more of ${RIGHTS.join(",")}.`);
}

export async function listPeople({
  options: { format },
  context,
}: Call<typeof FORMAT_OPTIONS>): Promise<void> {
  const { output } = context;
  const people = await (await peopleOf(context)).list();
  if (format === "json") {
    for (const person of people) {
      const { id, name, rights, roles = [], osUser, away, madeBy } = person;
      const absence = away && { to: away.to, until: away.until.toISOString() };
      const confirmed = confirmationOf(person);
      output.print(
        jsonLine({
          id,
          name,
          rights,
          roles,
          ...(osUser !== undefined && { os_user: osUser }),
          ...(absence !== undefined && { away: absence }),
          ...(madeBy !== undefined && { made_by: madeBy }),
          ...(confirmed !== undefined && { confirmed }),
        }),
      );
    }
    return;
  }
  if (people.length === 0) output.notice("No people yet. To add one: jp serve people add NAME");
  for (const person of people) output.print(describe(person, people));
}

/** Throws `person_not_found`. */
export async function removePerson({ args: [name = ""], context }: Call): Promise<void> {
  const people = await peopleOf(context);
  if (!(await people.remove(name))) throw notFoundError(name);
  context.output.notice(`Removed ${oneLine(name)}. Their token no longer works.`);
}

export function notFoundError(name: string): JpError {
  return new JpError("person_not_found", `No person is called ${oneLine(name)}.`, {
    hint: "To list them: jp serve people ls",
  });
}

/** The person's name, with everything that affects what they may do. */
export function describe(person: Person, people: readonly Person[] = []): string {
  const { name, rights, roles = [], osUser = "", away, madeBy } = person;
  const facts = [
    rights.join(", "),
    ...(roles.length > 0 ? [`roles: ${roles.join(", ")}`] : []),
    ...(osUser === "" ? [] : [`OS user: ${osUser}`]),
    ...(away === undefined ? [] : [`away until ${localTime(away.until)}: ${away.to} decides`]),
    ...(madeBy === undefined ? [] : [`added at the desk by ${nameOf(madeBy[0], people)}`]),
    ...(isConfirmed(person) ? [] : ["not confirmed"]),
  ];
  return oneLine(`${name} (${facts.join("; ")})`);
}

/** Removed people are known only by their ID. */
function nameOf(id = "someone", people: readonly Person[]): string {
  return people.find((person) => person.id === id)?.name ?? id;
}
