/** What the tokens of a request cost. */

/** Per million tokens. What has no price is not counted. */
export interface TokenPrice {
  /** Input tokens that are not from the cache. */
  readonly input?: number;
  /** Input tokens from the cache; the price of other input if absent. */
  readonly cachedInput?: number;
  /** Input tokens that are written to the cache; the price of other input if absent. */
  readonly cacheWrites?: number;
  /** Output tokens, including reasoning. */
  readonly output?: number;
}

/** A request whose price is wanted. */
export interface PricedRequest {
  readonly at: Date;
  /** All its input tokens: some models cost more per token above a limit. */
  readonly input: number;
  /** The cost in US dollars that the provider itself has reported. */
  readonly reportedCost?: number | undefined;
}
