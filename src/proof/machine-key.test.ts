import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { temporaryFolder } from "../stores/temporary-workspace.fixture.ts";
import { ensureMachineKey, keyIdOfPem, machineKeyFile, publicKeyToPem } from "./machine-key.ts";

function userEnvironment() {
  const variables = { JP_USER_DATA_DIR: path.join(temporaryFolder(), "data") };
  return { variables, home: "/", platform: process.platform };
}

describe("the key of the machine", () => {
  test("is made once, even if two ask for it at the same time", async () => {
    const environment = userEnvironment();
    const keys = await Promise.all([ensureMachineKey(environment), ensureMachineKey(environment)]);
    const ids = [...keys, await ensureMachineKey(environment)].map(({ key }) => key.id);
    expect(new Set(ids).size).toBe(1);
  });

  test("is in a file that only its owner can read", async () => {
    const environment = userEnvironment();
    await ensureMachineKey(environment);
    const file = machineKeyFile(environment);
    const modes = [file, path.dirname(file)].map((each) => statSync(each).mode & 0o777);
    expect(modes).toEqual([0o600, 0o700]);
  });

  test("has the same ID in PEM", async () => {
    const { key } = await ensureMachineKey(userEnvironment());
    expect(keyIdOfPem(publicKeyToPem(key))).toBe(key.id);
  });

  test("is not used if others can read its file, or if that is a link or something else", async () => {
    counters("T-PROOF-6");
    const readable = userEnvironment();
    await ensureMachineKey(readable);
    chmodSync(machineKeyFile(readable), 0o644);
    const linked = userEnvironment();
    mkdirSync(path.dirname(machineKeyFile(linked)), { recursive: true });
    symlinkSync(machineKeyFile(readable), machineKeyFile(linked));
    const damaged = userEnvironment();
    mkdirSync(path.dirname(machineKeyFile(damaged)), { recursive: true });
    writeFileSync(machineKeyFile(damaged), "not a key", { mode: 0o600 });
    for (const environment of [readable, linked, damaged]) {
      await expect(ensureMachineKey(environment)).rejects.toMatchObject({
        code: "invalid_machine_key",
      });
    }
  });
});
