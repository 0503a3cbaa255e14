/** Stands in for sherpa-onnx-node: engines without models, and libraries that misbehave by the name of the model. */
const fs = require('node:fs');

function open(path) {
  const wanted = fs.readFileSync(path, 'utf8').trim();
  if (wanted === 'abort') process.abort();
  if (wanted === 'throw') throw new Error('it is no model');
  if (wanted === 'complain') process.stderr.write('model.cc:Check:12 Errors in config!\n');
  if (wanted === 'chatter')
    process.stderr.write('[W:onnxruntime:Default, device.cc:89] Failed to open a graphics card\n');
}

class Stream {
  samples = 0;
  from = 0;
  over = false;
  acceptWaveform({ samples }) {
    this.samples += samples.length;
  }
  inputFinished() {
    this.over = true;
  }
}

/** A word for each quarter of a second. */
const WORDS = ['HEY', 'COMPUTER,', 'Turn', 'on', 'the', 'light.'];

class OnlineRecognizer {
  constructor(config) {
    open(config.modelConfig.transducer.encoder);
  }
  createStream() {
    return new Stream();
  }
  isReady() {
    return false;
  }
  decode() {
    throw new Error('nothing is ready');
  }
  getResult(stream) {
    return { text: WORDS.slice(0, Math.floor(stream.samples / 4000)).join(' ') };
  }
}

class OfflineRecognizer extends OnlineRecognizer {
  static async createAsync(config) {
    open(config.modelConfig.whisper.encoder);
    return Object.create(OfflineRecognizer.prototype);
  }
  async decodeAsync(stream) {
    if (stream.samples > 16000 * 10) throw new Error('out of memory');
  }
}

/** Its first phrase, at each second. */
class KeywordSpotter {
  constructor(config) {
    open(config.modelConfig.transducer.encoder);
    this.lines = fs.readFileSync(config.keywordsFile, 'utf8').trim().split('\n');
  }
  createStream() {
    return new Stream();
  }
  isReady(stream) {
    return stream.samples - stream.from >= 16000;
  }
  decode(stream) {
    stream.from += 16000;
  }
  reset(stream) {
    stream.over = false;
  }
  getResult(stream) {
    return { keyword: /@(\d+)/.exec(this.lines[0])[0], timestamps: [stream.from / 16000 - 0.1] };
  }
}

class OfflineTts {
  numSpeakers = 2;
  sampleRate = 22050;
  static async createAsync(config) {
    open(config.model.vits.model);
    return new OfflineTts();
  }
  async generateAsync({ text, sid }) {
    if (text.includes('xyzzy')) throw new Error('nothing happens');
    return { samples: new Float32Array(2205).fill(0.25 * (sid + 1)), sampleRate: 22050 };
  }
}

module.exports = { OnlineRecognizer, OfflineRecognizer, KeywordSpotter, OfflineTts };
