/** `jp store`: the tables of a store in a database, and copies between stores. */
import { ensureMachineKey } from "../../../proof/index.ts";
import { oneLine } from "../../../render/index.ts";
import {
  type CopiedStore,
  copyStore,
  migrateStore,
  openWorkspace,
  type PortableStore,
} from "../../../storage/index.ts";
import { createStatusLine } from "../../../terminal/index.ts";
import { JpError } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { FILES, findDatabase } from "../../store.ts";

/** Throws `usage`, `store_too_new`, `store_unreachable`. */
export async function migrateDatabase({ args: [given], context }: Call<object>): Promise<void> {
  const { environment, output } = context;
  const database = given === undefined ? context.database : await findDatabase(environment, given);
  if (database === undefined) {
    throw usageError(
      "No database is configured.",
      "Name one: jp store migrate postgres://ana@db.example.com/jp",
    );
  }
  const { from, to } = await migrateStore(database.url);
  if (from === to) output.notice(`The tables are up to date (version ${to}).`);
  else if (from === 0) output.notice(`Created the tables (version ${to}).`);
  else output.notice(`Updated the tables from version ${from} to ${to}.`);
}

/** Throws `usage`, `store_not_copied`, and what reading and writing the stores throws. */
export async function copyBetween({ args, context }: Call<object>): Promise<void> {
  const [fromAddress = "", toAddress = ""] = args;
  const { output } = context;
  if (fromAddress === toAddress) throw usageError("The two stores are the same.");
  const from = await openPortable(context, fromAddress);
  const to = await openPortable(context, toAddress);
  try {
    const { copied, same, problems } = await copyWithProgress(context, from, to);
    for (const { error } of problems) warn(error.message, output);
    const skipped = same === 0 ? "" : ` ${same} ${same === 1 ? "was" : "were"} there already.`;
    output.notice(`Copied ${copied} ${copied === 1 ? "conversation" : "conversations"}.${skipped}`);
    if (problems.length === 0) return;
    const { length } = problems;
    throw new JpError(
      "store_not_copied",
      `${length} ${length === 1 ? "conversation was" : "conversations were"} not copied.`,
    );
  } finally {
    await from.close?.();
    await to.close?.();
  }
}

async function copyWithProgress(
  { host, clock }: CommandContext,
  from: PortableStore,
  to: PortableStore,
): Promise<CopiedStore> {
  const now = () => clock.now().getTime();
  const isPlain = host.environment.variables["JP_PLAIN"] === "1";
  const status = createStatusLine({ stream: host.notices, isPlain, now });
  let progress = "";
  status.set("Copying conversations", now(), { details: () => progress });
  try {
    return await copyStore(from, to, (done, all) => {
      progress = `${done} of ${all}`;
    });
  } finally {
    status.set(undefined);
  }
}

export async function printKey({ context }: Call<object>): Promise<void> {
  const { key } = await ensureMachineKey(context.environment);
  context.output.print(key.text);
}

async function openPortable(context: CommandContext, address: string): Promise<PortableStore> {
  const { environment, cwd, clock, host } = context;
  const database = await findDatabase(environment, address).catch(() => {
    throw usageError(`Not a store: ${oneLine(address)}`, `Write ${FILES}, or postgres://….`);
  });
  const options = { from: cwd, environment, clock, pid: host.pid };
  return openWorkspace({ ...options, ...(database !== undefined && { database }) }).openPortable();
}
