/** `jp serve people`: who may use the desk. */
import type { PartialConfig } from "../../../config/index.ts";
import {
  DEFAULT_RIGHTS,
  looksLike,
  openPeople,
  type Person,
  type Right,
  RIGHTS,
} from "../../../desk/index.ts";
import { jsonLine, oneLine } from "../../../render/index.ts";
import { userDataFolder } from "../../../storage/index.ts";
import { JpError } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { trustedConfig } from "../../trust.ts";

/** The people are the same for all workspaces. */
export function peopleOf({ environment }: Pick<CommandContext, "environment">) {
  return openPeople(userDataFolder(environment));
}

/** The person who logs in with the link is the one who started the server. */
export function findOwner(
  config: PartialConfig,
  { environment }: Pick<CommandContext, "environment">,
): Person {
  const { USER: user, LOGNAME: login } = environment.variables;
  const name = config.user?.name ?? user ?? login ?? "owner";
  return { name, rights: RIGHTS };
}

/** Prints the token alone, so that it can be piped. Throws `person_exists`. */
export async function addPerson({
  args: [name = ""],
  options,
  context,
}: Call<{ readonly rights?: string }>): Promise<void> {
  const rights = options.rights === undefined ? DEFAULT_RIGHTS : parseRights(options.rights);
  const owner = findOwner((await trustedConfig(context, {})).config, context);
  const token = await peopleOf(context).add(name, rights);
  const { output } = context;
  output.notice(`Added ${describe({ name, rights })}. Their token, which jp will not show again:`);
  output.print(token);
  output.flush();
  output.notice("They enter it on the page; programs send it as Authorization: Bearer TOKEN.");
  if (!looksLike(name, owner.name)) return;
  warn(`${owner.name} is your own name: whoever has this token answers as you.`, output);
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
}: Call<{ readonly format?: "text" | "json" }>): Promise<void> {
  const { output } = context;
  const people = await peopleOf(context).list();
  if (format === "json") {
    for (const { name, rights } of people) output.print(jsonLine({ name, rights }));
    return;
  }
  if (people.length === 0) output.notice("No people yet. To add one: jp serve people add NAME");
  for (const person of people) output.print(describe(person));
}

/** Throws `person_not_found`. */
export async function removePerson({ args: [name = ""], context }: Call<object>): Promise<void> {
  if (!(await peopleOf(context).remove(name))) {
    throw new JpError("person_not_found", `No person is called ${oneLine(name)}.`, {
      hint: "To list them: jp serve people ls",
    });
  }
  context.output.notice(`Removed ${oneLine(name)}. Their token no longer works.`);
}

function describe({ name, rights }: Person): string {
  return `${oneLine(name)} (${rights.join(", ")})`;
}
