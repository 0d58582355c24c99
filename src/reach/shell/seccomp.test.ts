import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { seccompFilter } from "./seccomp.ts";

interface Call {
  readonly architecture: number;
  readonly number: number;
  readonly secondArgument?: bigint;
}

/** What the kernel does with a call: `bpf(2)` for the four instructions that the filter has. */
function decide(filter: Uint8Array, { architecture, number, secondArgument = 0n }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(architecture, 4);
  data.writeBigUInt64LE(secondArgument, 24);
  const program = Buffer.from(filter);
  let value = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at);
    const operand = program.readUInt32LE(at + 4);
    const jump = (isTrue: boolean) => (at += 8 * program.readUInt8(at + (isTrue ? 2 : 3)));
    if (code === 0x06) return operand;
    if (code === 0x20) value = data.readUInt32LE(operand);
    else if (code === 0x15) jump(value === operand);
    else if (code === 0x35) jump(value >= operand);
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the filter has no end");
}

const ALLOWED = 0x7fff0000;
const KILLED = 0x80000000;
const [NOT_PERMITTED, NOT_IMPLEMENTED] = [0x00050001, 0x00050026];
const TYPE_TEXT = 0x5412n;

// The numbers of linux/audit.h and asm/unistd.h, for 64-bit and 32-bit programs.
const ABIS = [
  {
    abi: "x86_64",
    arch: "x64",
    architecture: 0xc000003e,
    keys: [248, 249, 250],
    ioctl: 16,
    write: 1,
  },
  {
    abi: "i386",
    arch: "x64",
    architecture: 0x40000003,
    keys: [286, 287, 288],
    ioctl: 54,
    write: 4,
  },
  {
    abi: "aarch64",
    arch: "arm64",
    architecture: 0xc00000b7,
    keys: [217, 218, 219],
    ioctl: 29,
    write: 64,
  },
  {
    abi: "arm",
    arch: "arm64",
    architecture: 0x40000028,
    keys: [309, 310, 311],
    ioctl: 54,
    write: 4,
  },
];

const filterOf = (arch: string) => seccompFilter(arch) ?? new Uint8Array();

describe("the filter of system calls", () => {
  test.each(ABIS)(
    "lets a command use no keyring of the kernel, as if there were none ($abi)",
    ({ arch, architecture, ...abi }) => {
      const filter = filterOf(arch);
      counters("T-SHELL-9");
      expect(abi.keys.map((number) => decide(filter, { architecture, number }))).toEqual([
        NOT_IMPLEMENTED,
        NOT_IMPLEMENTED,
        NOT_IMPLEMENTED,
      ]);
    },
  );

  test.each(ABIS)(
    "lets a command type into no terminal, whatever the upper half of the request is ($abi)",
    ({ arch, architecture, ...abi }) => {
      const filter = filterOf(arch);
      counters("T-SHELL-9");
      const requests = [TYPE_TEXT, TYPE_TEXT + (1n << 32n), 0x541cn, 0x5401n];
      expect(
        requests.map((secondArgument) =>
          decide(filter, { architecture, number: abi.ioctl, secondArgument }),
        ),
      ).toEqual([NOT_PERMITTED, NOT_PERMITTED, NOT_PERMITTED, ALLOWED]);
    },
  );

  test.each(ABIS)("allows other calls ($abi)", ({ arch, architecture, ...abi }) => {
    const filter = filterOf(arch);
    const numbers = [abi.write, ...abi.keys.map((number) => number + 10)];
    const secondArgument = TYPE_TEXT;
    expect(
      numbers.map((number) => decide(filter, { architecture, number, secondArgument })),
    ).toEqual(numbers.map(() => ALLOWED));
  });
});

test("the filter refuses the calls of x32, and of an architecture that the kernel does not run", () => {
  counters("T-SHELL-9");
  const filter = filterOf("x64");
  const architecture = 0xc000003e;
  expect([
    decide(filter, { architecture, number: 0x40000000 + 250 }),
    decide(filter, { architecture: 0xc0000015, number: 1 }),
  ]).toEqual([NOT_IMPLEMENTED, KILLED]);
});

test("there is no filter, and so no sandbox, on other architectures", () => {
  expect(seccompFilter("riscv64")).toBeUndefined();
});
