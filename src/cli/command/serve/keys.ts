/** `jp serve people key`: the keys people sign decisions with. */
import { peopleOf } from "../../../assemble/index.ts";
import path from "node:path";
import { resolveNotify } from "../../../settings/config/index.ts";
import { announceOnce } from "../../../surfaces/notify/index.ts";
import {
  fingerprintOf,
  isKeyChange,
  loadAgent,
  makeKeyFile,
  type PeopleLogEntry,
  readKeyFile,
} from "../../../settings/people/index.ts";
import { userDataFolder } from "../../../stores/index.ts";
import { JpError, jsonLine, oneLine, shellWord } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { trustedConfig } from "../../trust.ts";
import { notFoundError } from "./people.ts";
import type { FORMAT_OPTIONS, FlagsOf } from "../../options.ts";
import type { ADD_KEY } from "./options.ts";

/** Throws `usage`, `person_not_found`, `key_exists`, `key_not_found`, `cannot_sign`. */
export async function addKey({
  args: [name = ""],
  options,
  context,
}: Call<typeof ADD_KEY>): Promise<void> {
  const people = await peopleOf(context);
  const person = (await people.list()).find((each) => each.name === name);
  if (person === undefined) throw notFoundError(name);
  const notify = await findNotify(context);
  const { publicKey, file } = await findKey(options, context);
  const id = fingerprintOf(publicKey);
  const added = context.clock.now().toISOString();
  const key = { id, public: publicKey.toString("base64"), added };
  await people.addKey(name, { type: "ed25519", ...key, ...(file !== undefined && { file }) });
  const where = file === undefined ? "the SSH agent" : oneLine(file);
  context.output.notice(`${oneLine(name)} signs with ${id}, from ${where}.`);
  await notify?.(await people.readLog(person.id));
}

interface FoundKey {
  readonly publicKey: Buffer;
  readonly file?: string;
}

async function findKey(
  options: FlagsOf<typeof ADD_KEY>,
  context: CommandContext,
): Promise<FoundKey> {
  const { environment, host } = context;
  if (options.new === true) {
    const file = await makeKeyFile(userDataFolder(environment));
    return { publicKey: readKeyFile(file).publicKey, file };
  }
  if (options.file !== undefined) {
    const file = path.resolve(host.cwd, options.file);
    return { publicKey: readKeyFile(file).publicKey, file };
  }
  if (options.sshAgent === undefined) {
    throw usageError("Which key? Pass --ssh-agent, --file or --new.");
  }
  return findAgentKey(options.sshAgent, environment.variables["SSH_AUTH_SOCK"]);
}

/** Throws `key_not_found`, `cannot_sign`. */
async function findAgentKey(wanted: string | true, socket: string | undefined): Promise<FoundKey> {
  const { listAgentKeys } = await loadAgent();
  const keys = await listAgentKeys(socket);
  const [key, ...others] = wanted === true ? keys : keys.filter(({ id }) => id === wanted);
  if (key !== undefined && others.length === 0) return { publicKey: key.publicKey };
  const listed = keys.map(({ id, comment }) => `  ${id} ${oneLine(comment)}`).join("\n");
  const message =
    key === undefined
      ? `The SSH agent has no ${wanted === true ? "Ed25519 key" : `Ed25519 key ${oneLine(wanted)}`}.`
      : "The SSH agent has several keys: pass the fingerprint of one.";
  throw new JpError("key_not_found", message, {
    hint: listed === "" ? "To add one to it: ssh-add" : `It has:\n${listed}`,
  });
}

export async function listKeys({
  options: { format },
  context,
}: Call<typeof FORMAT_OPTIONS>): Promise<void> {
  const { output } = context;
  const people = await (await peopleOf(context)).list();
  const all = people.flatMap(({ name, keys = [] }) => keys.map((key) => ({ name, key })));
  if (all.length === 0 && format !== "json") {
    output.notice("No keys yet. To add one: jp serve people key add NAME --new");
  }
  for (const { name, key } of all) {
    const { type, id, added } = key;
    const where = type === "passkey" ? key.rpId : (key.file ?? "SSH agent");
    output.print(
      format === "json"
        ? jsonLine({ person: name, type, id, added, where })
        : oneLine(`${name}: ${type} ${id} (${where}, added ${added})`),
    );
  }
}

/** Throws `person_not_found`, `key_not_found`. */
export async function removeKey({ args: [name = "", id = ""], context }: Call): Promise<void> {
  const people = await peopleOf(context);
  const person = (await people.list()).find((each) => each.name === name);
  if (person === undefined) throw notFoundError(name);
  const notify = await findNotify(context);
  if (!(await people.removeKey(name, id))) {
    throw new JpError("key_not_found", `${oneLine(name)} has no key ${oneLine(id)}.`, {
      hint: "To list them: jp serve people key ls",
    });
  }
  const [removed] = person.keys?.filter((key) => key.id === id) ?? [];
  context.output.notice(`Removed ${oneLine(id)}. It no longer signs for ${oneLine(name)}.`);
  if (removed?.type === "ed25519" && removed.file !== undefined) {
    context.output.notice(`Its file is still there: ${shellWord(oneLine(removed.file))}`);
  }
  await notify?.(await people.readLog(person.id));
}

/** Announces a change of someone's keys, as the desk does. Undefined if notifications are not configured. */
async function findNotify(context: CommandContext) {
  const { output, clock, environment, cwd, host } = context;
  const settings = resolveNotify((await trustedConfig(context, {})).config);
  if (settings === undefined) return undefined;
  return async (log: readonly PeopleLogEntry[]) => {
    const change = log.findLast(isKeyChange);
    if (change === undefined) return;
    const stop = new AbortController();
    using _ = host.onSignal(["SIGINT", "SIGTERM"], () => stop.abort(new Error("Interrupted.")));
    const { variables } = environment;
    const machine = { clock, variables, cwd, signal: stop.signal };
    for (const { channel, problem } of await announceOnce(change, settings, machine)) {
      if (problem !== undefined) warn(`Cannot notify by ${channel}: ${problem}`, output);
    }
  };
}
