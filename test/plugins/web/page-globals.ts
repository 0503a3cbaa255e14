/** As much of a browser as the texts of the page ask for when they are imported: where the chosen language is kept. */
export function pageGlobals(): void {
  const value = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  Object.defineProperty(globalThis, 'localStorage', { value, configurable: true });
}
