/** Values that say nothing, in the place of defaults. Apart from the schema, which is slow to load. */

/** Drops keys whose value is undefined. */
export function definedOnly<Value extends object>(
  value: Value,
): { readonly [Key in keyof Value]: Exclude<Value[Key], undefined> } {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  // Key by key the same value.
  return Object.fromEntries(entries) as {
    readonly [Key in keyof Value]: Exclude<Value[Key], undefined>;
  };
}
