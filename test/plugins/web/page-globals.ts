/** As much of a browser as modules of the page ask for when they are imported: an address, a store, a listener. */
export function pageGlobals(): void {
  const store = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  const globals = {
    ...{ localStorage: store, sessionStorage: store, addEventListener: () => undefined },
    location: { hash: '', origin: 'http://127.0.0.1:55280' },
  };
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, configurable: true });
}
