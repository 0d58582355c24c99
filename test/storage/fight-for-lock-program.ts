/**
 * A test program that takes and releases a lock repeatedly, and prints how often it was not alone with
 * it. Arguments: the folder of the locks, the number of repetitions.
 */
import { closeSync, openSync, rmSync } from "node:fs";
import { flushCompileCache } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseConversationId } from "../../src/record/conversation/index.ts";
import { acquireLock } from "../../src/stores/fs/lock.ts";
import { isJpError } from "../../src/util/index.ts";

const [folder = "", count = ""] = process.argv.slice(2);
const id = parseConversationId("jp-c1");
const owner = { pid: process.pid, acquiredAt: "2026-01-02T03:04:05.000Z" };
const marker = path.join(folder, "marker");

flushCompileCache();
console.log("ready");
await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next();
let violations = 0;
for (let taken = 0; taken < Number(count);) {
  const lock = await acquireLock(folder, id, owner).catch((error: unknown) => {
    if (!isJpError(error)) throw error;
  });
  if (lock === undefined) continue;
  taken += 1;
  if (!isAlone()) violations += 1;
  lock.release();
}
console.log(violations);
process.exit();

function isAlone(): boolean {
  try {
    closeSync(openSync(marker, "wx"));
    rmSync(marker);
    return true;
  } catch {
    return false;
  }
}
