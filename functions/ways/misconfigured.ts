/** A Worker that is set up wrongly: said to the caller as a 503, with what to do next. */
export function misconfigured(message: string, hint: string): Error {
  return Object.assign(new Error(message), { code: 'TK503', hint });
}
