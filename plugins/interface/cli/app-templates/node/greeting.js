/** Greeting for a name. Pure: it is tested without a device. */
export function greet(greeting, name) {
  return `${greeting}, ${name}!`;
}
