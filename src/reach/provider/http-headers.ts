/**
 * `Headers` without Node's `fetch`, which `globalThis.Headers` would load. In the command, the build substitutes it in
 * all packages that use `Headers`.
 */
export class HttpHeaders implements Iterable<[string, string]> {
  readonly #values = new Map<string, string>();

  constructor(init: NonNullable<ConstructorParameters<typeof Headers>[0]> | HttpHeaders = {}) {
    const pairs = Symbol.iterator in init ? init : Object.entries(init);
    for (const [name = "", value = ""] of pairs) this.append(name, value);
  }

  append(name: string, value: string | number): void {
    const before = this.get(name);
    this.set(name, before === null ? value : `${before}, ${value}`);
  }

  set(name: string, value: string | number): void {
    this.#values.set(name.toLowerCase(), String(value).trim());
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  forEach(action: (value: string, name: string) => void): void {
    for (const [name, value] of this) action(value, name);
  }

  entries(): IterableIterator<[string, string]> {
    return this.#values.entries();
  }

  keys(): IterableIterator<string> {
    return this.#values.keys();
  }

  values(): IterableIterator<string> {
    return this.#values.values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}
