/** The bridge broke a rule of the protocol: the session is ended and opened anew. Never leaves the plugin. */
export class ProtocolError extends Error {}
