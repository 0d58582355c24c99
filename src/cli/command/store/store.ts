/** `jp store`: manages the tables of a database store, and copies between stores. */
import { ensureMachineKey } from "../../../proof/index.ts";
import {
  type CopiedStore,
  copyStore,
  type LimitedTenant,
  listLimits,
  migrateStore,
  noWorkspaceError,
  openWorkspace,
  type PortableStore,
  rolesScript,
  setLimits,
} from "../../../stores/index.ts";
import { createStatusLine } from "../../../surfaces/terminal/index.ts";
import { JpError, jsonLine, oneLine } from "../../../util/index.ts";
import { type CommandContext, FILES, findDatabase, noticeStoreId, warn } from "../../context.ts";
import { describeClaimed } from "../../claim.ts";
import type { Call } from "../../define.ts";
import { noDatabaseError, usageError } from "../../exit-status.ts";
import type { CLAIM, LIMIT, MIGRATE, ROLES } from "./options.ts";

/** Throws `usage`, `store_too_new`, `store_busy`, `store_unreachable`. */
export async function migrateDatabase({
  args: [given],
  options,
  context,
}: Call<typeof MIGRATE>): Promise<void> {
  const { environment, output } = context;
  const database = given === undefined ? context.database : await findDatabase(environment, given);
  if (database === undefined) throw noDatabaseError("No database is configured.");
  const { dropQueue = false } = options;
  const { from, to, lockedMs, hasQueue } = await migrateStore(database.url, { dropQueue });
  if (from === to) output.notice(`The tables are up to date (version ${to}).`);
  else if (from === 0) output.notice(`Created the tables (version ${to}).`);
  else {
    const seconds = (lockedMs / 1000).toFixed(1);
    output.notice(
      `Updated the tables from version ${from} to ${to}. They were locked for ${seconds} seconds.`,
    );
    output.notice("If logins are separated by `jp store roles`, run its script again.");
  }
  if (dropQueue) output.notice("The queue of earlier versions (the schema jp_queue) is removed.");
  else if (hasQueue) {
    output.notice(
      "The queue of earlier versions (the schema jp_queue) is still there. Once their workers are gone: jp store migrate --drop-queue",
    );
  }
}

/** Throws `usage`, `store_not_copied`, and what reading and writing the stores throws. */
export async function copyBetween({ args, context }: Call): Promise<void> {
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

/**
 * Throws `usage`, `no_workspace`, `workspace_claimed`, `other_workspace`, `workspace_unnamed`, and what reading and writing the
 * store throws.
 */
export async function claimWorkspace({ options, context }: Call<typeof CLAIM>): Promise<void> {
  const { claims, isPlainFolder, root } = context.workspace;
  if (claims === undefined) throw noDatabaseError("No database is configured.");
  if (isPlainFolder) throw noWorkspaceError(root);
  const claimed = await claims.claim(options.other === true);
  context.output.notice(describeClaimed(claimed));
}

export async function printKey({ context }: Call): Promise<void> {
  const { key } = await ensureMachineKey(context.environment);
  context.output.print(key.text);
}

/** Throws `usage`, `invalid_role`. */
export async function printRoles({ options, context }: Call<typeof ROLES>): Promise<void> {
  const { tenant, kind, role } = options;
  if (tenant === undefined && role !== undefined) {
    throw usageError("--role is the login of a tenant.", "Add --tenant.");
  }
  const login =
    tenant === undefined ? undefined : { tenant, kind, ...(role !== undefined && { role }) };
  const script = await rolesScript(login);
  context.output.print(script.trimEnd());
}

/** Throws `usage`, and what the database throws. */
export async function limitTenant({ args, options, context }: Call<typeof LIMIT>): Promise<void> {
  const [tenant] = args;
  const { database, output } = context;
  if (database === undefined) throw noDatabaseError("No database is configured.");
  const { turns, bytes, requests, format } = options;
  const isChange = [turns, bytes, requests].some((limit) => limit !== undefined);
  if (isChange && tenant === undefined) throw usageError("Name the tenant.");
  const all = await listLimits(database.url);
  const listed = tenant === undefined ? all : all.filter((each) => each.tenant === tenant);
  if (tenant === undefined || !isChange) {
    for (const limits of listed) {
      output.print(format === "json" ? jsonLine({ ...limits }) : describeLimits(limits));
    }
    if (listed.length === 0 && format !== "json") output.notice("There are no limits.");
    return;
  }
  const changed = {
    tenant,
    ...limitIn("turns", turns ?? listed[0]?.turns),
    ...limitIn("bytes", bytes ?? listed[0]?.bytes),
    ...limitIn("requests", requests ?? listed[0]?.requests),
  };
  await setLimits(database.url, changed);
  output.notice(describeLimits(changed));
}

function limitIn(name: string, limit: number | "none" | undefined): Record<string, number> {
  return typeof limit === "number" ? { [name]: limit } : {};
}

function describeLimits({ tenant, turns, bytes, requests }: LimitedTenant): string {
  const limits = [
    turns !== undefined && `${turns.toLocaleString("en-US")} turns at once in workers`,
    bytes !== undefined && `${bytes.toLocaleString("en-US")} bytes of events`,
    requests !== undefined && `${requests.toLocaleString("en-US")} new turns a minute`,
  ].filter((limit) => limit !== false);
  return `${oneLine(tenant)}: ${limits.length === 0 ? "no limits" : limits.join(", ")}`;
}

async function openPortable(context: CommandContext, address: string): Promise<PortableStore> {
  const { environment, cwd, clock, host, output } = context;
  const database = await findDatabase(environment, address).catch(() => {
    throw usageError(`Not a store: ${oneLine(address)}`, `Write ${FILES}, or postgres://….`);
  });
  const onStoreId = () => noticeStoreId(output);
  return openWorkspace({
    from: cwd,
    environment,
    clock,
    pid: host.pid,
    ...(database !== undefined && { database: { ...database, onStoreId } }),
  }).openPortable();
}
