/** The code of an error, if it has one: `ENOENT` from the system, `REQUEST_TIMEOUT` from the SDK. */
export function errorCodeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}
