/** Drops undefined values, so that defaults apply. Separate from the schema, which is slow to load. */

/** Drops keys whose value is undefined. */
export function definedOnly<Value extends object>(
  value: Value,
): { readonly [Key in keyof Value]: Exclude<Value[Key], undefined> } {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  // The same values, key by key.
  return Object.fromEntries(entries) as {
    readonly [Key in keyof Value]: Exclude<Value[Key], undefined>;
  };
}
