/** Ends a switch over a closed union: a new member fails to compile here. */
export function assertNever(value: never): never {
  throw new Error(`Unhandled case: ${JSON.stringify(value)}`);
}
