/**
 * A filter of system calls for commands: the kernel's keys are the caller's, and no namespace hides them. Terminals cannot
 * be typed into either. A program for the kernel's own interpreter (classic BPF), so nothing needs to be installed.
 */

interface Abi {
  /** The kernel's name for the architecture (`AUDIT_ARCH_…`). */
  readonly audit: number;
  /** Numbers of `keyctl`, `add_key` and `request_key`. */
  readonly keyCalls: readonly number[];
  readonly ioctl: number;
  /** Numbers from here on belong to x32, another ABI of the same architecture. */
  readonly x32From?: number;
}

const X86_64: Abi = {
  audit: 0xc0_00_00_3e,
  keyCalls: [250, 248, 249],
  ioctl: 16,
  x32From: 0x40_00_00_00,
};
const I386: Abi = { audit: 0x40_00_00_03, keyCalls: [288, 286, 287], ioctl: 54 };
const AARCH64: Abi = { audit: 0xc0_00_00_b7, keyCalls: [219, 217, 218], ioctl: 29 };
const ARM: Abi = { audit: 0x40_00_00_28, keyCalls: [311, 309, 310], ioctl: 54 };

/** Each with the ABI of 32-bit programs, which the same kernel runs. */
const ABIS: Readonly<Record<string, readonly Abi[]>> = {
  x64: [X86_64, I386],
  arm64: [AARCH64, ARM],
};

/** Type text into a terminal: as if it came from the keyboard, and from the selection of a console. */
const TYPING = [0x54_12 /* TIOCSTI */, 0x54_1c /* TIOCLINUX */];

/** Offsets in what the filter sees of a call. Of an argument, the low half: the kernel uses no more of these. */
const [NUMBER, ARCHITECTURE, SECOND_ARGUMENT] = [0, 4, 24];

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const RETURN = 0x06;

const ALLOW = 0x7f_ff_00_00;
const KILL_PROCESS = 0x80_00_00_00;
const FAIL_WITH = 0x00_05_00_00;
const EPERM = 1;
/** Programs take it for a kernel without keys, and do without them. */
const ENOSYS = 38;

type Instruction = readonly [code: number, value: number, ifTrue?: number, ifFalse?: number];

/** For `bwrap --seccomp`. Undefined for an architecture that jp does not run on. */
export function seccompFilter(arch: string): Uint8Array | undefined {
  const abis = ABIS[arch];
  if (abis === undefined) return undefined;
  const program: readonly Instruction[] = [
    [LOAD, ARCHITECTURE],
    ...abis.flatMap((abi) => {
      const rules = rulesOf(abi);
      return [[IF_EQUAL, abi.audit, 0, rules.length] as const, ...rules];
    }),
    [RETURN, KILL_PROCESS],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, value, ifTrue = 0, ifFalse = 0]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

function rulesOf({ keyCalls, ioctl, x32From }: Abi): readonly Instruction[] {
  const typing = TYPING.flatMap((request) => failIf(IF_EQUAL, request, EPERM));
  return [
    [LOAD, NUMBER],
    ...(x32From === undefined ? [] : failIf(IF_AT_LEAST, x32From, ENOSYS)),
    ...keyCalls.flatMap((call) => failIf(IF_EQUAL, call, ENOSYS)),
    [IF_EQUAL, ioctl, 0, typing.length + 1],
    [LOAD, SECOND_ARGUMENT],
    ...typing,
    [RETURN, ALLOW],
  ];
}

function failIf(condition: number, value: number, error: number): readonly Instruction[] {
  return [
    [condition, value, 0, 1],
    [RETURN, FAIL_WITH + error],
  ];
}
