/** The price of a request's tokens. */

/** Per million tokens. Tokens without a price are not counted. */
export interface TokenPrice {
  /** Input tokens that are not from the cache. */
  readonly input?: number;
  /** Input tokens from the cache. Default: the price of other input. */
  readonly cachedInput?: number;
  /** Input tokens written to the cache. Default: the price of other input. */
  readonly cacheWrites?: number;
  /** Output tokens, including reasoning. */
  readonly output?: number;
}

/** A request to price. */
export interface PricedRequest {
  readonly at: Date;
  /** All its input tokens: some models charge more per token above a limit. */
  readonly input: number;
  /** The cost in US dollars, as reported by the provider. */
  readonly reportedCost?: number | undefined;
}
